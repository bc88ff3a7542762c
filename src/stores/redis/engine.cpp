// SPDX-License-Identifier: Apache-2.0
#include "stores/redis/engine.h"

#include <algorithm>
#include <cassert>
#include <system_error>

#include "base/time.h"
#include "stores/redis/fault.h"
#include "stores/redis/job_row.h"

namespace holdfast::redis {
namespace {

constexpr std::size_t shared_job_words = 9;
// More would keep the server from everybody else for milliseconds.
constexpr std::size_t most_claims_at_once = 256;
constexpr Millis a_century = std::chrono::hours(24 * 36525);

// What is thrown inside comes out as a value.
template <class Out, class Work>
Out guarded(const Work& work) {
  try {
    return work();
  } catch (const Failure& failure) {
    return failure.error();
  } catch (const std::system_error& e) {  // no thread, no descriptor
    return Error{Errc::unavailable, e.what()};
  }
}

// What is done in several steps, of which some have been: whoever asked cannot tell which.
template <class Step>
void in_steps(const Step& step) {
  bool applied = false;
  try {
    while (step()) applied = true;
  } catch (const Failure& failure) {
    Error error = failure.error();
    if (applied) error.code = Errc::in_doubt;
    throw_failure(std::move(error));
  }
}

std::int64_t bounded(Millis length) { return std::clamp(length, Millis::zero(), a_century).count(); }
// Zero would be now.
std::int64_t not_before(std::optional<Moment> at) { return at == Moment{} ? 1 : micros_or_zero(at).count(); }
JobId id_of(const Value& value) { return JobId{static_cast<std::uint64_t>(value.number())}; }
std::string_view flag(bool value) { return value ? "1" : "0"; }

EnqueueReply::What what_of_enqueue(std::string_view word) {
  using What = EnqueueReply::What;
  if (word == "enqueued") return What::enqueued;
  if (word == "replaced") return What::replaced;
  if (word == "duplicate") return What::duplicate;
  if (word == "locked") return What::locked;
  throw_failure(not_understood());
}

Claimed::What what_of_claim(std::string_view word) {
  using What = Claimed::What;
  if (word == "nothing") return What::nothing;
  if (word == "running") return What::running;
  if (word == "dropped") return What::dropped;
  if (word == "raised") return What::raised;
  if (word == "poisoned") return What::poisoned;
  throw_failure(not_understood());
}

const char* word_of(JobChange what) {
  switch (what) {
    case JobChange::cancel: return "cancel";
    case JobChange::retry: return "retry";
    case JobChange::remove: return "remove";
  }
  return "?";
}

}  // namespace

Answer RedisEngine::ask(Lua lua, std::size_t words, const std::function<void(Command&)>& add, Instant until) {
  const StoreConfig& config = link_.config();
  for (int attempt = 0; attempt < 4; ++attempt) {
    Wire& wire = link_.ready(until);
    link_.look_at_clock(until);
    const Instant sent = BootClock::now();
    const Micros void_after = link_.offset().at_least(until);
    const auto add_all = [&](Command& command) {
      command.number(void_after.count()).word(config.naming.jobs()).word(config.naming.prefix());
      command.word(config.client).word(config.naming.kept()).word(config.naming.index());
      command.word(config.naming.held()).word(config.naming.purged()).word(config.naming.log());
      add(command);
    };
    Answer answer = run(wire, config, lua, 0, shared_job_words + words, add_all, until);
    if (answer->is_error()) throw_failure(to_error(answer->text(), config, Errc::in_doubt));
    link_.learn(sent, BootClock::now(), micros_of((*answer)[0]));
    const bool late = answer->size() == 2 && (*answer)[1].text() == "late";
    if (!late) return answer;  // else the server's clock was not where we thought; by now we know better
  }
  throw_failure(
      {Errc::unavailable,
       "the server's clock jumped during each of several attempts; check its time synchronisation, then "
       "try again"});
}

Result<EnqueueReply> RedisEngine::enqueue(const NewJob& job, Instant until) {
  return guarded<Result<EnqueueReply>>([&]() -> Result<EnqueueReply> {
    if (job.limit > 0 && link_.config().naming.reserved(job.key))
      throw_failure(no_lease(job.key, "name", link_.config()));
    const auto add = [&](Command& command) {
      command.word(job.name).word(job.queue).word(job.args).number(job.priority);
      command.number(not_before(job.at)).number(bounded(job.in)).number(job.max_attempts);
      command.word(job.key).number(ttl_ms(job.lock_ttl)).word(flag(job.lock_fixed)).number(job.limit);
      command.word(to_string(job.on_conflict)).word(to_string(job.unique));
      command.word(job.tick_name).number(job.tick).number(bounded(job.window));
      command.word(flag(core::minds_owner(job)));
    };
    const Answer told = ask(Lua::enqueue, 17, add, until);
    return EnqueueReply{.what = what_of_enqueue((*told)[1].text()),
                        .id = id_of((*told)[2]),
                        .state = state_of((*told)[3].text()),
                        .since = moment_or_none(micros_of((*told)[4])),
                        .owner = std::string((*told)[5].text()),
                        .now = moment_of((*told)[0])};
  });
}

Result<Claimed> RedisEngine::claim(const ClaimRequest& request, Instant until) {
  return guarded<Result<Claimed>>([&]() -> Result<Claimed> {
    const auto add = [&](Command& command) {
      command.word(request.owner.text).number(bounded(request.ttl)).number(request.max_crashes);
      command.number(bounded(request.longest_place));
      for (const std::string& queue : request.queues) command.word(queue);
    };
    const Answer told = ask(Lua::claim, 4 + request.queues.size(), add, until);
    const std::int64_t remaining = (*told)[3].number();
    Claimed claimed{.what = what_of_claim((*told)[1].text()),
                    .recovered = (*told)[2].text() == "1",
                    .lock_remaining = remaining < 0 ? Millis(never) : Millis(remaining),
                    .blocker = std::string((*told)[4].text()),
                    .next = Millis((*told)[5].number()),
                    .now = moment_of((*told)[0])};
    if (claimed.what != Claimed::What::nothing)
      claimed.job = core::seen(job_of((*told)[6]), micros_of((*told)[0]));
    return claimed;
  });
}

Status RedisEngine::renew(std::span<const ClaimRef> claims, std::span<bool> held, Millis ttl, Instant until) {
  assert(held.size() == claims.size());
  return guarded<Status>([&]() -> Status {
    std::size_t from = 0;
    in_steps([&] {
      const auto some = claims.subspan(from, std::min(most_claims_at_once, claims.size() - from));
      if (some.empty()) return false;
      const auto add = [&](Command& command) {
        command.number(bounded(ttl));
        for (const ClaimRef& claim : some) command.number(to_number(claim.id)).word(claim.owner.text);
      };
      const Answer told = ask(Lua::renew_claims, 1 + 2 * some.size(), add, until);
      for (std::size_t i = 0; i < some.size(); ++i) held[from + i] = (*told)[1 + i].text() == "1";
      from += some.size();
      return true;
    });
    return Status{};
  });
}

Result<Finished> RedisEngine::finish(const Finish& how, Instant until) {
  return guarded<Result<Finished>>([&]() -> Result<Finished> {
    const auto add = [&](Command& command) {
      command.number(to_number(how.id)).word(how.owner.text).word(to_string(how.to)).number(bounded(how.in));
      command.word(flag(how.counts)).word(how.error).word(how.lock.text).number(to_number(how.token));
    };
    const Answer told = ask(Lua::finish, 8, add, until);
    return Finished{.finished = (*told)[1].text() == "1",
                    .released = (*told)[2].text() == "1",
                    .now = moment_of((*told)[0])};
  });
}

Result<std::vector<JobRow>> RedisEngine::list(const JobQuery& query, Instant until) {
  return guarded<Result<std::vector<JobRow>>>([&]() -> Result<std::vector<JobRow>> {
    std::vector<JobRow> rows;
    std::uint64_t before = to_number(query.before);
    while (rows.size() < query.limit) {
      const auto add = [&](Command& command) {
        command.number(to_number(query.id)).word(query.key).word(query.name).word(query.queue);
        command.word(query.state ? to_string(*query.state) : "").number(before);
        command.number(query.limit - rows.size());
      };
      const Answer told = ask(Lua::list_jobs, 7, add, until);
      for (std::size_t i = 2; i < told->size(); ++i)
        rows.push_back(core::seen(job_of((*told)[i]), micros_of((*told)[0])));
      before = to_number(id_of((*told)[1]));
      if (before == 0) break;
    }
    return rows;
  });
}

Result<JobRow> RedisEngine::change(JobId id, JobChange what, std::string_view by, Instant until) {
  return guarded<Result<JobRow>>([&]() -> Result<JobRow> {
    const auto add = [&](Command& command) { command.number(to_number(id)).word(word_of(what)).word(by); };
    const Answer told = ask(Lua::change_job, 3, add, until);
    const std::string_view came = (*told)[1].text();
    const Micros now = micros_of((*told)[0]);
    if (came == "none") return core::no_such_job(id);
    if (came == "slot") return core::slot_is_taken(id, id_of((*told)[2][0]));
    core::JobRecord job = job_of((*told)[2]);
    if (came == "changed") return core::seen(std::move(job), now);
    if (Status s = core::change(job, what, by, {.now = now, .wall = Moment(now)}); !s)
      return std::move(s).error();
    return not_understood();
  });
}

TickRow RedisEngine::ask_tick(std::string_view what, const Tick& tick, Instant until) {
  const auto add = [&](Command& command) {
    command.word(what).word(tick.name).number(tick.tick).number(bounded(tick.period)).word(tick.by);
  };
  const Answer told = ask(Lua::tick, 5, add, until);
  return {.taken = (*told)[1].text() == "1",
          .tick = (*told)[2].number(),
          .by = std::string((*told)[3].text()),
          .at = moment_or_none(micros_of((*told)[4])),
          .success = moment_or_none(micros_of((*told)[5])),
          .now = moment_of((*told)[0])};
}

Result<TickRow> RedisEngine::take_tick(const Tick& tick, Instant until) {
  return guarded<Result<TickRow>>([&]() -> Result<TickRow> { return ask_tick("take", tick, until); });
}

Result<TickRow> RedisEngine::tick(std::string_view name, Instant until) {
  return guarded<Result<TickRow>>(
      [&]() -> Result<TickRow> { return ask_tick("look", {.name = name}, until); });
}

Status RedisEngine::note_success(std::string_view name, std::string_view by, Instant until) {
  return guarded<Status>([&]() -> Status {
    (void)ask_tick("success", {.name = name, .by = by}, until);
    return Status{};
  });
}

Result<std::uint64_t> RedisEngine::purge(const JobPurge& what, Instant until) {
  return guarded<Result<std::uint64_t>>([&]() -> Result<std::uint64_t> {
    std::uint64_t gone = 0;
    in_steps([&] {
      const std::size_t most = std::min<std::size_t>(most_claims_at_once, what.limit - gone);
      const auto add = [&](Command& command) { command.number(bounded(what.older_than)).number(most); };
      const Answer told = ask(Lua::purge_jobs, 2, add, until);
      const auto jobs = static_cast<std::size_t>((*told)[1].number());
      const auto windows = static_cast<std::size_t>((*told)[2].number());
      gone += jobs;
      return gone < what.limit && (jobs == most || windows == most);
    });
    return gone;
  });
}

}  // namespace holdfast::redis
