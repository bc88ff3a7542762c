// SPDX-License-Identifier: Apache-2.0
// How a step is one transaction, takes its lease by the rule of every other, and finds a job to claim.
#include "stores/mariadb/jobs.h"

#include <algorithm>
#include <type_traits>
#include <utility>

#include "core/row.h"
#include "core/rule.h"
#include "stores/mariadb/leases.h"
#include "stores/mariadb/sql.h"

namespace holdfast::mariadb {
namespace {

using namespace std::chrono_literals;
using core::JobRecord;

constexpr Millis soon = 100ms;
// A claim that has found so many of its jobs' locks held has to come to an end.
constexpr int most_parts = 20;

// So many whose time has come are made ready by one claim.
constexpr std::size_t most_made_ready = 1000;
// Somebody is about to claim what is due, or has it locked.
constexpr Millis a_moment = 10ms;

template <class Time>
void take_earlier(std::optional<Time>& best, std::type_identity_t<std::optional<Time>> at) {
  if (at && (!best || *at < *best)) best = at;
}

void require_time(Instant until) {
  if (BootClock::now() >= until)
    throw_failure({Errc::unavailable, "timed out before the request could be sent: the connection was busy"});
}

}  // namespace

MariaEngine::MariaEngine(std::shared_ptr<const StoreConfig> config, Instant until)
    : config_(std::move(config)), tables_(config_->tables) {
  connect(until);
}

void MariaEngine::connect(Instant until) {
  auto connection = std::make_unique<Connection>(*config_, until);
  ServerProbe probe = probe_server(*connection, *config_, until);
  require_complete(probe, *config_);
  require_jobs(probe, *config_);
  offset_ = {};
  offset_.learn(probe.asked, probe.answered, probe.now);
  tables_ = config_->tables.with_ttl(probe.ttl);
  probe_ = std::move(probe);
  connection_ = std::move(connection);
}

// -- transactions

void MariaEngine::transact(Access access, Instant until, const std::function<void()>& work) {
  require_time(until);
  try {
    if (connection_->ended()) connect(until);
  } catch (const Failure& failure) {
    throw_failure(undone(failure.error()));  // nothing of the caller's was sent yet
  }
  locked_keys_.clear();
  parts_ = 0;
  while (true) {
    begin(access, until);
    try {
      if (attempt(work)) return;
    } catch (const Overtaken& overtaken) {
      roll_back();
      if (BootClock::now() >= until || connection_->ended())
        throw_failure(undone(statement_error(overtaken.trouble, config_->name)));
    } catch (...) {
      roll_back();
      throw;
    }
  }
}

bool MariaEngine::attempt(const std::function<void()>& work) {
  bool whole = true;
  try {
    work();
  } catch (const CommitPart&) {
    whole = false;
    ++parts_;
  }
  commit();
  return whole;
}

void MariaEngine::begin(Access access, Instant until) {
  access_ = access;
  until_ = until;
  pending_ = access == Access::write ? tables_.sql(Sql::begin) : "";
  wrote_ = false;
  moment_.reset();
  read_records_.clear();
  candidates_.reset();
  set_aside_ = false;
  busy_.clear();
  first_parked_.clear();
}

void MariaEngine::commit() {
  if (access_ == Access::read) return;
  if (!wrote_) {
    ask(tables_.sql(Sql::roll_back), 0);
    return;
  }
  const std::int64_t void_after = offset_.at_least(until_).count();
  const Answers done =
      connection_->run(std::exchange(pending_, {}) + commit_in_time(tables_, void_after), until_);
  if (!done.trouble) return;
  if (done.trouble->code == too_late)
    throw_failure({Errc::unavailable, config_->name + ": timed out before the commit"});
  fail(*done.trouble);
}

// What is lost with its connection the server undoes by itself.
void MariaEngine::roll_back() noexcept {
  if (access_ == Access::read || connection_->ended()) return;
  try {
    (void)connection_->run(tables_.sql(Sql::roll_back), std::max(until_, BootClock::now() + soon));
  } catch (const Failure&) {
    // Then it is of no more use, and the next call makes a new one.
  }
}

void MariaEngine::fail(const Trouble& trouble) const {
  if (was_overtaken(trouble.code) || was_locked(trouble.code)) throw Overtaken{trouble};
  throw_failure(statement_error(trouble, config_->name));
}

void MariaEngine::write(const std::string& statements) {
  pending_ += statements;
  wrote_ = true;
}

std::vector<Answer> MariaEngine::ask(const std::string& text, std::size_t count) {
  try {
    Answers answers = connection_->run(std::exchange(pending_, {}) + text, until_);
    if (answers.trouble) fail(*answers.trouble);
    answers.each.erase(answers.each.begin(), answers.each.end() - static_cast<std::ptrdiff_t>(count));
    return std::move(answers.each);
  } catch (const Failure& failure) {
    throw_failure(undone(failure.error()));
  }
}

// Of the transaction's begin: a claim that had to wait for a row is a little shorter for it.
core::JobMoment MariaEngine::moment() {
  if (moment_) return *moment_;
  const Instant sent = BootClock::now();
  const Micros now(ask(tables_.sql(Sql::read_clock), 1).front().number(0, 0));
  offset_.learn(sent, BootClock::now(), now);
  return moment_.emplace(core::JobMoment{.now = now, .wall = Moment(now)});
}

// -- leases

// Somebody's open transaction must not keep all other jobs from being claimed: a row that was waited for in
// vain is, at the next attempt, answered for by what everybody else sees of it, as the store does it.
Reply MariaEngine::lease(const Request& r) {
  const auto known = busy_.find(r.key.text);
  if (known != busy_.end() && r.verb == Verb::acquire) return known->second;
  if (known != busy_.end()) busy_.erase(known);
  // To lock it now would be out of order: two claims that set jobs aside would wait for each other.
  else if (set_aside_ && parts_ < most_parts && !busy_.empty() && r.key.text < busy_.rbegin()->first)
    throw CommitPart{};
  const std::string key = tables_.key(r.key.text);
  // A finish has to release what it says it has released.
  const bool skips = locked_keys_.contains(r.key.text) && candidates_;
  const Values values = {{"keys", key}, {"skip_locked", skips ? "SKIP LOCKED" : ""}, {"patience", ""}};
  std::vector<Answer> answers;
  try {
    answers = ask(tables_.sql(Sql::lock_leases, values) + tables_.sql(Sql::read_committed_leases, values),
                  LockedLeases::answers + 1);
  } catch (const Overtaken& overtaken) {
    if (was_locked(overtaken.trouble.code)) locked_keys_.emplace(r.key.text);
    throw;
  }
  const std::span<const Answer> read = std::span(answers).first(LockedLeases::answers);
  if (!has_state(read)) throw_failure({Errc::unprepared, no_state_row(*config_)});
  LockedLeases leases = leases_in(read, {r.key.text}, false);
  LockedLease& lease = leases.keys.begin()->second;
  const Micros now = leases.moment.now;
  if (const Answer& committed = answers.back(); skips && !lease.exists && !committed.rows.empty()) {
    const std::string owner(committed.text(0, 1));
    const bool live = !owner.empty() && core::lease_is_live(committed.moment(0, 2), now);
    return {.verdict = r.verb == Verb::acquire ? Verdict::busy : Verdict::lost,
            .token = Token{static_cast<std::uint64_t>(committed.number(0, 3))},
            .owner = live ? owner : "(a transaction that has its row locked)",
            .remaining = live ? core::remaining(committed.moment(0, 2), now) : soon,
            .now = StoreTime{now.count()}};
  }
  const LockedLease before = lease;
  core::Outcome outcome = core::decide(r, config_->client, lease.record, leases.moment);
  Writes writes(tables_);
  writes.add(r, before, lease.record, outcome, config_->client, now);
  if (!writes.empty()) write(writes.text());
  if (outcome.reply.verdict == Verdict::busy) busy_.emplace(r.key.text, outcome.reply);
  return std::move(outcome.reply);
}

std::string MariaEngine::lock_owner(Key lock) {
  const auto answers = ask(tables_.sql(Sql::read_owner, {{"key", tables_.key(lock.text)}}), 1);
  return answers.front().rows.empty() ? std::string() : std::string(answers.front().text(0, 0));
}

// -- claiming: all that a claim may want to know, in one text

MariaEngine::Candidates& MariaEngine::read_candidates(Queues queues) {
  const core::JobMoment at = moment();
  enum : std::size_t { expired, became_due, ready, times, count };
  std::string text;
  for (const std::string& queue : queues) {
    const Values values = {
        {"queue", hex(queue)}, {"moment", datetime_of(at.now)}, {"limit", std::to_string(most_made_ready)}};
    for (const Sql statement : {Sql::expired_job, Sql::jobs_become_due, Sql::ready_job, Sql::queue_times})
      text += tables_.sql(statement, values);
  }
  const auto answers = ask(text, count * queues.size());
  Candidates found;
  for (std::size_t i = 0; i < answers.size(); i += count) {
    take_better(found.expired, one_in(answers[i + expired]));
    take_better(found.ready, one_in(answers[i + ready]));
    if (const std::string ids = ids_in(answers[i + became_due]); !ids.empty())
      found.became_due += (found.became_due.empty() ? "" : ", ") + ids;
    const Answer& then = answers[i + times];
    if (then.number(0, 0) != 0) take_earlier(found.due, at.wall);
    if (const auto due = then.moment(0, 1)) take_earlier(found.due, Moment(*due));
    take_earlier(found.claim_end, then.moment(0, 2));
  }
  return candidates_.emplace(std::move(found));
}

std::optional<JobRecord> MariaEngine::ready_in(Queues queues) {
  std::string text;
  for (const std::string& queue : queues) text += tables_.sql(Sql::ready_job, {{"queue", hex(queue)}});
  std::optional<JobRecord> best;
  for (const Answer& answer : ask(text, queues.size())) take_better(best, one_in(answer));
  return best;
}

// Asked again by a claim that has set one aside, which may do so with a hundred: then only the next is new.
std::optional<JobRecord> MariaEngine::next_expired(Queues queues, Micros) {
  if (!candidates_ || candidates_->expired) return read_candidates(queues).expired;
  candidates_->ready = ready_in(queues);
  candidates_->current = false;
  return std::nullopt;
}

std::optional<JobRecord> MariaEngine::next_due(Queues queues, Moment) {
  Candidates& found = candidates_ ? *candidates_ : read_candidates(queues);
  if (found.became_due.empty()) return found.ready;
  write(tables_.sql(Sql::make_jobs_ready, {{"ids", found.became_due}}));
  found.became_due.clear();
  return ready_in(queues);
}

const MariaEngine::Candidates& MariaEngine::current_candidates(Queues queues) {
  return candidates_ && candidates_->current ? *candidates_ : read_candidates(queues);
}

std::optional<Moment> MariaEngine::earliest_due(Queues queues) {
  const std::optional<Moment> due = current_candidates(queues).due;
  const Moment wall = moment().wall;
  return due && *due <= wall ? wall + a_moment : due;
}

std::optional<Micros> MariaEngine::earliest_claim_end(Queues queues) {
  const std::optional<Micros> end = current_candidates(queues).claim_end;
  const Micros now = moment().now;
  return end && *end <= now ? now + a_moment : end;
}

std::optional<JobRecord> MariaEngine::first_parked(std::string_view key, Moment wall) {
  if (const auto known = first_parked_.find(key); known != first_parked_.end()) return known->second;
  auto first = one_in(
      ask(tables_.sql(Sql::parked_job, {{"key", hex(key)}, {"moment", datetime_of(wall)}}), 1).front());
  return first_parked_.emplace(key, std::move(first)).first->second;
}

}  // namespace holdfast::mariadb
