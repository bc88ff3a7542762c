// SPDX-License-Identifier: Apache-2.0
// The claim of a job, from its beginning to its end.
#include <algorithm>
#include <cassert>

#include "core/job_rule.h"
#include "core/row.h"
#include "stores/postgres/enqueuer.h"
#include "stores/postgres/jobs.h"

namespace holdfast::postgres {
namespace {

// How long a claim waits for a lease whose row somebody has locked: other jobs must not wait for that.  Half
// as long for the next such lease, so that a second is enough to pass by many: then the first is tried again.
constexpr Millis claim_patience{400}, least_claim_patience{10};

bool is_set_aside(std::string_view outcome) {
  return outcome == "parked" || outcome == "passed" || outcome == "damaged";
}

}  // namespace

Result<Claimed> PostgresEngine::claim(const ClaimRequest& request, Instant until) {
  return guarded<Result<Claimed>>([&]() -> Result<Claimed> {
    require_fit(request.owner.text, probe_.longest_owner, "locked_by", config_->tables.name());
    Manner manner;
    Millis patience = claim_patience;
    Claimed nothing;
    for (int parked = 0; parked < core::parked_per_claim;) {
      const std::vector<Answer> got = ask_claim(request, manner, patience, until);
      if (const auto& trouble = got.back().trouble()) {
        if (is_of_one_job(trouble->state)) {
          // Which one it is only the careful way tells.
          const bool told = manner.careful && got.size() > 1;
          if (manner.careful && !(told && spoil(got.front().number(0, 0), *trouble, until)))
            throw_failure(statement_error(*trouble, config_->name()));
          manner.careful = !manner.careful;
          if (told) ++parked;
          continue;
        }
        if (manner.skip) throw_failure(contended(config_->name(), *trouble));
        manner.skip = true;
        patience = std::max(patience / 2, least_claim_patience);
        continue;
      }
      if (is_set_aside(got.back().text(0, 0))) {
        ++parked;
        nothing.now = Moment(Micros(got.back().number(0, 1)));
      }
      if (auto claimed = take_claim(got.back(), manner)) return *std::move(claimed);
    }
    return nothing;
  });
}

std::vector<Answer> PostgresEngine::ask_claim(const ClaimRequest& request, Manner manner, Millis longest,
                                              Instant until) {
  return answers(until, [&] {
    const std::int64_t void_after = offset_.at_least(until).count();
    const Millis patience = std::min(longest, std::max(Millis(1), patience_for(until) / 4));
    const auto put_queues = [&](Parameters& p) {
      p.texts();
      for (const std::string& queue : request.queues) p.add(queue);
    };
    parameters_.clear();
    parameters_.number(void_after).number(patience.count()).text(config_->client).flag(manner.skip);
    parameters_.text(request.owner.text).number(length_of(request.ttl)).number(request.max_crashes);
    parameters_.number(request.longest_place > Millis::zero() ? length_of(request.longest_place)
                                                              : std::nullopt);
    if (manner.careful) {
      more_.clear();
      more_.number(void_after).number(patience.count());
      put_queues(more_);
      more_.flag(manner.skip);
      const Step steps[] = {{statements_[Sql::hold_next], more_},
                            {statements_[Sql::claim_held], parameters_}};
      return connection_->run(steps, until);
    }
    put_queues(parameters_);
    std::vector<Answer> one;
    const Instant sent = BootClock::now();
    one.push_back(connection_->run(statements_[Sql::claim], parameters_, until));
    if (!one.back().trouble()) offset_.learn(sent, BootClock::now(), Micros(one.back().number(0, 1)));
    return one;
  });
}

bool PostgresEngine::spoil(std::int64_t id, const Trouble& why, Instant until) {
  const std::string error = statement_error(why, "its lock cannot be written").detail;
  parameters_.clear();
  parameters_.number(id).text(error).number(patience_for(until).count());
  return answer_once(Sql::spoil, until).rows() > 0;
}

std::optional<Claimed> PostgresEngine::take_claim(const Answer& a, Manner& manner) {
  enum : int { outcome, now_us, recovered, lock_until_us, blocker, next_ms, job };
  const std::string_view said = a.text(0, outcome);
  if (said == "careful" || said == "again") {
    manner.careful = said == "careful";
    return std::nullopt;
  }
  const bool was_careful = std::exchange(manner, {}).careful;
  if (is_set_aside(said) || (said == "nothing" && was_careful)) return std::nullopt;
  Claimed claimed;
  const Micros now(a.number(0, now_us));
  claimed.now = Moment(now);
  if (said == "nothing") {
    claimed.next = Millis(a.number(0, next_ms));
    return claimed;
  }
  claimed.what = said == "running"   ? Claimed::What::running
                 : said == "dropped" ? Claimed::What::dropped
                 : said == "raised"  ? Claimed::What::raised
                                     : Claimed::What::poisoned;
  claimed.recovered = a.flag(0, recovered);
  claimed.job = job_in(a, 0, job);
  const bool locked = claimed.what == Claimed::What::running && !claimed.job.lock.empty();
  const std::optional<Micros> end =
      a.is_null(0, lock_until_us) ? std::nullopt : std::optional(Micros(a.number(0, lock_until_us)));
  if (locked) claimed.lock_remaining = core::remaining(end, now);
  if (claimed.what == Claimed::What::dropped || claimed.what == Claimed::What::raised)
    claimed.blocker = a.text(0, blocker);
  return claimed;
}

// -- renew

Status PostgresEngine::renew(std::span<const ClaimRef> claims, std::span<ClaimReply> replies, Instant until) {
  assert(replies.size() == claims.size());
  if (claims.empty()) return Status{};
  return guarded<Status>([&]() -> Status {
    parameters_.clear();
    parameters_.numbers();
    for (const ClaimRef& claim : claims) parameters_.add(std::optional(as_number(claim.id)));
    parameters_.texts();
    for (const ClaimRef& claim : claims) parameters_.add(claim.owner.text);
    parameters_.numbers();
    for (const ClaimRef& claim : claims) parameters_.add(length_of(claim.ttl));
    parameters_.number(patience_for(until).count());
    const Answer a = answer(Sql::renew_claims, until);
    std::fill(replies.begin(), replies.end(), ClaimReply{});
    for (int row = 0; row < a.rows(); ++row) {
      ClaimReply& reply = replies[static_cast<std::size_t>(a.number(row, 0) - 1)];
      if (a.flag(row, 1))
        reply.error = core::job_is_locked(config_->name());
      else
        reply.held = true;
    }
    core::each_waiting_claim(claims, replies, [&](std::size_t i, std::int64_t waiting) {
      try {
        replies[i] = renew_locked(claims[i], patience_for(until) / waiting, until);
      } catch (const Failure&) {
        // Its job is still locked; if it is more than that, the next renewal says so.
      }
    });
    return Status{};
  });
}

ClaimReply PostgresEngine::renew_locked(const ClaimRef& claim, Millis patience, Instant until) {
  parameters_.clear();
  parameters_.number(as_number(claim.id)).text(claim.owner.text).number(length_of(claim.ttl));
  parameters_.number(patience.count());
  return {.held = answer(Sql::renew_locked_claim, until).number(0, 0) > 0};
}

// -- finish

Result<Finished> PostgresEngine::finish(const Finish& how, Instant until) {
  return guarded<Result<Finished>>([&]() -> Result<Finished> {
    const auto got = answers(until, [&] {
      parameters_.clear();
      parameters_.number(as_number(how.id)).text(how.owner.text).text(to_string(how.to));
      parameters_.number(length_of(std::clamp(how.in, Millis::zero(), core::a_century))).flag(how.counts);
      parameters_.text(how.error).text(how.lock.text).number(static_cast<std::int64_t>(to_number(how.token)));
      parameters_.number(patience_for(until).count());
      more_.clear();
      more_.text(how.lock.text);
      const Step steps[] = {{statements_[Sql::finish], parameters_}, {statements_[Sql::unpark], more_}};
      const std::size_t needed = how.lock.text.empty() ? 1 : 2;
      return connection_->run(std::span(steps).first(needed), until);
    });
    if (const auto& trouble = got.back().trouble()) throw_failure(not_done(*trouble));
    const Answer& a = got.front();
    return Finished{.finished = a.number(0, 0) > 0,
                    .released = a.number(0, 1) > 0,
                    .now = Moment(Micros(a.number(0, 2)))};
  });
}

}  // namespace holdfast::postgres
