// SPDX-License-Identifier: Apache-2.0
#include "stores/redis/jobs.h"

#include <algorithm>
#include <cassert>
#include <optional>
#include <string>

#include "base/time.h"
#include "core/job_fields.h"
#include "stores/redis/fault.h"

namespace holdfast::redis {
namespace {

// jobs.lua repeats the words of these enums.
static_assert(core::words_of<OnConflict> == 4 && core::words_of<Unique> == 4 && job_states == 6);

constexpr std::size_t shared_job_words = 9;
// More would keep the server from everybody else for milliseconds.
constexpr std::size_t most_claims_at_once = 256;

// Calls `step` until it returns false.  If it fails after the first step, some of the work was done, and the
// caller cannot know which.
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

std::int64_t bounded(Millis length) { return std::clamp(length, Millis::zero(), core::a_century).count(); }
// Zero would be now.
std::int64_t not_before(std::optional<Moment> at) { return at == Moment{} ? 1 : micros_or_zero(at).count(); }
JobId id_of(const Value& value) { return JobId{static_cast<std::uint64_t>(value.number())}; }
std::string_view flag(bool value) { return value ? "1" : "0"; }

JobState state_of(const Value& value) {
  return core::enumerator_named<JobState>(value.text()).value_or(JobState::dead);
}

// A job as jobs.lua returns it: its id, then names and values.  What is damaged jobs.lua has found and
// mended.
class JobFields : public core::FieldReader {
 public:
  explicit JobFields(const Value& row) : row_(row) {
    if (const auto name = find("damaged")) damage(name->text());
  }

  std::string_view text(const char* name) {
    const auto value = find(name);
    return value ? value->text() : std::string_view();
  }
  std::int64_t number(const char* name) {
    const auto value = name == std::string_view("id") ? row_[0] : find(name);
    return value ? value->number() : 0;
  }
  bool flag(const char* name) { return text(name) == "1"; }
  Micros micros(const char* name) { return Micros(number(name)); }
  Millis length(const char* name) { return ttl_of(number(name)); }

 private:
  std::optional<Value> find(std::string_view name) const {
    for (std::size_t i = 1; i + 1 < row_.size(); i += 2)
      if (row_[i].text() == name) return row_[i + 1];
    return std::nullopt;
  }

  const Value& row_;
};

// Throws Failure: in_doubt if it is not understood.
core::JobRecord job_of(const Value& row) {
  JobFields fields(row);
  return core::read_job(fields);
}

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

}  // namespace

Answer RedisEngine::run(Lua lua, std::size_t words, const std::function<void(Command&)>& add, Instant until) {
  const StoreConfig& config = session_.config();
  const Naming& naming = config.naming;
  for (int attempt = 0; attempt < 4; ++attempt) {
    Connection& connection = session_.ready(until);
    const Micros void_after = session_.void_after(until);
    const Instant sent = BootClock::now();
    const auto add_all = [&](Command& command) {
      command.number(void_after.count()).words(naming.jobs, naming.prefix, config.client, naming.kept);
      command.words(naming.index, naming.held, naming.purged, naming.log);
      add(command);
    };
    Answer answer =
        checked(connection.run(lua, 0, shared_job_words + words, add_all, until), config, Errc::in_doubt);
    session_.learn(sent, BootClock::now(), answer[0].micros());
    const bool late = answer.size() == 2 && answer[1].text() == "late";
    if (!late) return answer;  // else the server's clock was not where we thought; by now we know better
  }
  throw_failure(clock_jumped());
}

Result<EnqueueReply> RedisEngine::enqueue(const NewJob& job, Instant until) {
  return guarded([&]() -> Result<EnqueueReply> {
    if (job.limit > 0 && session_.config().naming.reserved(job.key))
      throw_failure(no_lease(job.key, "name", session_.config()));
    const auto add = [&](Command& command) {
      command.word(job.name).word(job.queue).word(job.args).number(job.priority);
      command.number(not_before(job.at)).number(bounded(job.in)).number(job.max_attempts);
      command.word(job.key).number(ttl_ms(job.lock_ttl)).word(flag(job.lock_fixed)).number(job.limit);
      command.word(to_string(job.on_conflict)).word(to_string(job.unique));
      command.word(job.tick_name).number(job.tick).number(bounded(job.window));
      command.word(flag(core::minds_owner(job)));
    };
    const Answer answer = run(Lua::enqueue, 17, add, until);
    return EnqueueReply{.what = what_of_enqueue(answer[1].text()),
                        .id = id_of(answer[2]),
                        .state = state_of(answer[3]),
                        .since = moment_or_none(answer[4].micros()),
                        .owner = std::string(answer[5].text()),
                        .now = answer[0].moment()};
  });
}

Result<Claimed> RedisEngine::claim(const ClaimRequest& request, Instant until) {
  return guarded([&]() -> Result<Claimed> {
    const auto add = [&](Command& command) {
      command.word(request.owner.text).number(bounded(request.ttl)).number(request.max_crashes);
      command.number(bounded(request.longest_place));
      for (const std::string& queue : request.queues) command.word(queue);
    };
    const Answer answer = run(Lua::claim, 4 + request.queues.size(), add, until);
    Claimed claimed{.what = what_of_claim(answer[1].text()),
                    .recovered = answer[2].flag(),
                    .lock_remaining = ttl_of(answer[3].number()),
                    .blocker = std::string(answer[4].text()),
                    .next = Millis(answer[5].number()),
                    .now = answer[0].moment()};
    if (claimed.what != Claimed::What::nothing)
      claimed.job = core::seen(job_of(answer[6]), answer[0].micros());
    return claimed;
  });
}

Status RedisEngine::renew(std::span<const ClaimRef> claims, std::span<ClaimReply> replies, Instant until) {
  assert(replies.size() == claims.size());
  return guarded([&]() -> Status {
    std::size_t from = 0;
    in_steps([&] {
      const auto some = claims.subspan(from, std::min(most_claims_at_once, claims.size() - from));
      if (some.empty()) return false;
      const auto add = [&](Command& command) {
        for (const ClaimRef& claim : some)
          command.number(to_number(claim.id)).word(claim.owner.text).number(bounded(claim.ttl));
      };
      const Answer answer = run(Lua::renew_claims, 3 * some.size(), add, until);
      for (std::size_t i = 0; i < some.size(); ++i) replies[from + i] = {.held = answer[1 + i].flag()};
      from += some.size();
      return true;
    });
    return Status{};
  });
}

Result<Finished> RedisEngine::finish(const Finish& how, Instant until) {
  return guarded([&]() -> Result<Finished> {
    const auto add = [&](Command& command) {
      command.number(to_number(how.id)).word(how.owner.text).word(to_string(how.to)).number(bounded(how.in));
      command.word(flag(how.counts)).word(how.error).word(how.lock.text).number(to_number(how.token));
    };
    const Answer answer = run(Lua::finish, 8, add, until);
    return Finished{.finished = answer[1].flag(), .released = answer[2].flag(), .now = answer[0].moment()};
  });
}

Result<std::vector<JobRow>> RedisEngine::list(const JobQuery& query, Instant until) {
  return guarded([&]() -> Result<std::vector<JobRow>> {
    std::vector<JobRow> rows;
    std::uint64_t before = to_number(query.before);
    while (rows.size() < query.limit) {
      const auto add = [&](Command& command) {
        command.number(to_number(query.id)).word(query.key).word(query.name).word(query.queue);
        command.word(query.state ? to_string(*query.state) : "").number(before);
        command.number(query.limit - rows.size());
      };
      const Answer answer = run(Lua::list_jobs, 7, add, until);
      for (std::size_t i = 2; i < answer.size(); ++i)
        rows.push_back(core::seen(job_of(answer[i]), answer[0].micros()));
      before = to_number(id_of(answer[1]));
      if (before == 0) break;
    }
    return rows;
  });
}

Result<JobRow> RedisEngine::change(JobId id, JobChange what, std::string_view by, Instant until) {
  return guarded([&]() -> Result<JobRow> {
    const auto add = [&](Command& command) {
      command.number(to_number(id)).word(core::verb_of(what)).word(by);
    };
    const Answer answer = run(Lua::change_job, 3, add, until);
    const std::string_view outcome = answer[1].text();
    const Micros now = answer[0].micros();
    if (outcome == "none") return core::no_such_job(id);
    if (outcome == "slot") return core::slot_is_taken(id, id_of(answer[2][0]));
    core::JobRecord job = job_of(answer[2]);
    if (outcome == "changed") return core::seen(std::move(job), now);
    if (Status s = core::change(job, what, by, {.now = now, .wall = Moment(now)}); !s)
      return std::move(s).error();
    return not_understood();
  });
}

TickRow RedisEngine::run_tick(std::string_view what, const Tick& tick, Instant until) {
  const auto add = [&](Command& command) {
    command.word(what).word(tick.name).number(tick.tick).number(bounded(tick.period)).word(tick.by);
  };
  const Answer answer = run(Lua::tick, 5, add, until);
  return {.taken = answer[1].flag(),
          .tick = answer[2].number(),
          .by = std::string(answer[3].text()),
          .at = moment_or_none(answer[4].micros()),
          .success = moment_or_none(answer[5].micros()),
          .now = answer[0].moment()};
}

Result<TickRow> RedisEngine::take_tick(const Tick& tick, Instant until) {
  return guarded([&]() -> Result<TickRow> { return run_tick("take", tick, until); });
}

Result<TickRow> RedisEngine::tick(std::string_view name, Instant until) {
  return guarded([&]() -> Result<TickRow> { return run_tick("read", {.name = name}, until); });
}

Status RedisEngine::note_success(std::string_view name, std::string_view by, Instant until) {
  return guarded([&]() -> Status {
    (void)run_tick("success", {.name = name, .by = by}, until);
    return Status{};
  });
}

Result<std::uint64_t> RedisEngine::purge(const JobPurge& what, Instant until) {
  return guarded([&]() -> Result<std::uint64_t> {
    std::uint64_t gone = 0;
    in_steps([&] {
      const std::size_t most = std::min<std::size_t>(most_claims_at_once, what.limit - gone);
      const auto add = [&](Command& command) { command.number(bounded(what.older_than)).number(most); };
      const Answer answer = run(Lua::purge_jobs, 2, add, until);
      const auto jobs = static_cast<std::size_t>(answer[1].number());
      const auto windows = static_cast<std::size_t>(answer[2].number());
      gone += jobs;
      return gone < what.limit && (jobs == most || windows == most);
    });
    return gone;
  });
}

}  // namespace holdfast::redis
