// SPDX-License-Identifier: Apache-2.0
#include "tests/engines/job_cases.h"

#include <algorithm>

#include "core/job_rule.h"

namespace holdfast::test {
namespace job_cases {
namespace {

using namespace std::chrono_literals;
using enum JobVerb;

// How the job of a story was enqueued.
struct Enqueued {
  Unique unique = Unique::no;
  OnConflict on_conflict = OnConflict::wait;
  int limit = 1;

  std::string name() const {
    return std::string(to_string(unique)) + ", " + to_string(on_conflict) + ", limit " +
           std::to_string(limit);
  }
};

struct State {
  std::string name;
  std::vector<JobStep> steps = {};
  bool claimed = false;  // w1 has or had the first job, so ends and renewals are asked
  bool lock_ends = false;
};

JobStep enqueues(Micros at, const Enqueued& kind, JobAsk ask = {}) {
  ask.unique = kind.unique;
  ask.on_conflict = kind.on_conflict;
  ask.limit = kind.limit;
  return {at, ask};
}
JobStep claims(Micros at, const char* worker = "w1", Millis ttl = 1h) {
  return {at, {.verb = claim, .worker = worker, .ttl = ttl}};
}
JobStep ends(Micros at, JobState to, JobAsk ask = {}) {
  ask.verb = finish;
  ask.to = to;
  return {at, ask};
}
JobStep operates(Micros at, JobVerb verb, std::size_t job = 0) { return {at, {.verb = verb, .job = job}}; }

// The operator has all of its locks from then on, so long.
void hold_locks(std::vector<JobStep>& steps, Micros at, const Enqueued& kind, Ttl ttl) {
  const int locks = std::max(kind.limit, 1);
  for (int n = 1; n <= locks; ++n)
    steps.push_back({at, {.verb = acquire, .ttl = ttl, .lock = locks == 1 ? 0 : n}});
}

constexpr Micros long_ago = -2min;

std::vector<State> states(const Enqueued& kind, Micros tick) {
  const JobStep queued = enqueues(long_ago, kind, {.due = long_ago});
  std::vector<State> all = {
      {"none"},
      {"queued", {queued}},
      {"queued for later", {enqueues(long_ago, kind, {.due = 1h})}},
      {"queued, its lock held", {queued}},
      {"queued, its lock held without end", {queued}},
      {"queued, its lock free but for a waiter", {queued}},
  };
  for (const auto& [by, when] :
       {std::pair(-tick, "since a tick"), std::pair(Micros(0), "now"), std::pair(tick, "in a tick")})
    all.push_back({std::string("due ") + when, {enqueues(long_ago, kind, {.due = by})}});
  hold_locks(all[3].steps, -1min, kind, 1h);
  hold_locks(all[4].steps, -1min, kind, never);
  std::vector<JobStep>& behind = all[5].steps;
  hold_locks(behind, -1min, kind, 1h);
  for (JobStep step : std::vector(behind.begin() + 1, behind.end())) {
    step.ask.verb = queue_up;
    behind.push_back(step);
    step.ask.verb = release;
    behind.push_back(step);
  }

  // One whose lock was held when it was claimed: parked, dropped or raised, as its on_conflict says.
  for (const auto& [by, when] :
       {std::pair(-tick, "a pause and a tick"), std::pair(Micros(0), "a pause"),
        std::pair(tick, "a tick less than a pause"), std::pair(Micros(900ms), "a moment")}) {
    State refused{std::string("refused its lock since ") + when, {queued}, true};
    hold_locks(refused.steps, -1min, kind, 1h);
    refused.steps.push_back(claims(-Micros(core::scout_pause) + by));
    all.push_back(refused);
    if (by != Micros(0)) continue;
    refused.name += ", and it is free now";
    const std::vector<JobStep> held(refused.steps.begin() + 1, refused.steps.end() - 1);
    for (JobStep step : held) {
      step.at = -tick;
      step.ask.verb = release;
      refused.steps.push_back(step);
    }
    all.push_back(refused);
  }
  for (const auto& [by, when] : {std::pair(-tick, "over since a tick"), std::pair(Micros(0), "over now"),
                                 std::pair(tick, "over in a tick")}) {
    State refused{std::string("refused its lock, which is ") + when, {queued}, true, true};
    hold_locks(refused.steps, -5s + by, kind, 5s);
    refused.steps.push_back(claims(-600ms));
    all.push_back(refused);
  }
  {
    // Of those that wait, the one with priority -1 looks every second, the others once a minute.
    State crowd{"three of one key, after a claim", {queued}, true};
    crowd.steps.push_back(enqueues(long_ago + 1s, kind, {.due = long_ago + 1s}));
    crowd.steps.push_back(enqueues(long_ago + 2s, kind, {.due = long_ago + 2s, .priority = -1}));
    hold_locks(crowd.steps, -1min, kind, 1h);
    crowd.steps.push_back(claims(-30s));
    all.push_back(crowd);
    crowd.name += ", and its lock is free now";
    const std::vector<JobStep> held(crowd.steps.begin() + 3, crowd.steps.end() - 1);
    for (JobStep step : held) {
      step.at = -20s;
      step.ask.verb = release;
      crowd.steps.push_back(step);
    }
    all.push_back(crowd);
  }

  // Claimed: the claim lasts, or is over about now.
  all.push_back({"claimed", {queued, claims(-10s)}, true});
  for (const auto& [by, when] :
       {std::pair(-tick, "since a tick"), std::pair(Micros(0), "now"), std::pair(tick, "in a tick")}) {
    all.push_back({std::string("claimed, over ") + when, {queued, claims(-5s + by, "w1", 5s)}, true});
    State often{std::string("claimed again and again, over ") + when,
                {queued, claims(-40s, "w1", 5s), claims(-30s, "w1", 5s), claims(-5s + by, "w1", 5s)},
                true};
    all.push_back(often);
    all.push_back(
        {std::string("claimed, its lock over ") + when,
         {enqueues(long_ago, kind, {.due = long_ago, .lock_ttl = 5s, .lock_fixed = true}), claims(-5s + by)},
         true,
         true});
  }
  {
    State behind_it{"claimed, and another of its key was tried", {queued, claims(-10s)}, true};
    behind_it.steps.push_back(enqueues(-9s, kind, {.due = -9s}));
    behind_it.steps.push_back(claims(-8s, "w2"));
    all.push_back(behind_it);
    behind_it.name = "claimed until now, and another of its key was tried";
    behind_it.steps[1] = claims(-5s, "w1", 5s);
    behind_it.steps[2].at = -4s;
    behind_it.steps[3].at = -3s;
    all.push_back(behind_it);
  }
  all.push_back({"its lock was taken by another since",
                 {enqueues(long_ago, kind, {.due = long_ago, .lock_ttl = 5s, .lock_fixed = true}),
                  claims(-30s),
                  {-20s, {.verb = acquire, .ttl = 1h, .lock = kind.limit > 1 ? 1 : 0}}},
                 true,
                 true});

  all.push_back({"its worker died and another took its lock",
                 {enqueues(long_ago, kind, {.due = long_ago, .lock_ttl = 5s, .lock_fixed = true}),
                  claims(-30s, "w1", 5s),
                  {-20s, {.verb = acquire, .ttl = 1h, .lock = kind.limit > 1 ? 1 : 0}}},
                 true,
                 true});
  all.push_back({"claimed by another since", {queued, claims(-40s, "w1", 5s), claims(-30s, "w2")}, true});

  // Over, or back in the queue.
  const JobStep claimed = claims(-20s);
  for (const JobState to : {JobState::done, JobState::dead, JobState::dropped, JobState::cancelled})
    all.push_back({std::string("finished as ") + to_string(to), {queued, claimed, ends(-10s, to)}, true});
  all.push_back(
      {"failed once, tried again now", {queued, claimed, ends(-10s, JobState::queued, {.in = 10s})}, true});
  all.push_back({"handed back", {queued, claimed, ends(-10s, JobState::queued, {.counts = false})}, true});
  all.push_back({"cancelled in the queue", {queued, operates(-10s, cancel)}});
  all.push_back({"cancelled while it runs", {queued, claimed, operates(-10s, cancel)}, true});
  all.push_back({"cancelled, and another of its key is there",
                 {queued, operates(-10s, cancel), enqueues(-9s, kind, {.due = -9s})}});
  all.push_back({"retried", {queued, claimed, ends(-10s, JobState::dead), operates(-5s, retry)}, true});
  all.push_back({"retried while its cancelled run has the lock",
                 {queued, claimed, operates(-10s, cancel), operates(-5s, retry)},
                 true});
  all.push_back({"removed", {queued, operates(-10s, remove)}});
  all.push_back(
      {"its tick is taken", {enqueues(long_ago, kind, {.due = long_ago, .tick_name = "t", .tick = 7})}});
  all.push_back(
      {"its tick is taken and it is gone",
       {enqueues(long_ago, kind, {.due = long_ago, .tick_name = "t", .tick = 7}), operates(-5s, remove)}});
  return all;
}

struct Question {
  std::string name;
  JobAsk ask;
  bool of_claimed = false;  // only where w1 has or had the job
};

std::vector<Question> questions() {
  std::vector<Question> all;
  for (const Unique unique : {Unique::no, Unique::loner, Unique::until_start, Unique::until_success})
    for (const OnConflict conflict : {OnConflict::drop, OnConflict::replace})
      all.push_back({std::string("enqueue ") + to_string(unique) + " " + to_string(conflict),
                     {.unique = unique, .on_conflict = conflict}});
  all.push_back({"replace it by one for later",
                 {.due = 1h, .unique = Unique::loner, .on_conflict = OnConflict::replace, .priority = 3}});
  all.push_back({"enqueue a loner with a limit", {.unique = Unique::loner, .limit = 2}});
  for (const std::int64_t tick : {6, 7, 8})
    all.push_back({"enqueue for tick " + std::to_string(tick), {.tick_name = "t", .tick = tick}});
  for (const int crashes : {1, 3})
    all.push_back({"claim, max_crashes " + std::to_string(crashes),
                   {.verb = claim, .worker = "w9", .ttl = 7s, .max_crashes = crashes}});
  for (const JobVerb verb : {cancel, retry, remove})
    all.push_back({verb == cancel ? "cancel" : verb == retry ? "retry" : "remove", {.verb = verb}});
  for (const Millis ttl : {Millis(1), Millis(2h)})
    all.push_back({"renew for " + std::to_string(ttl.count()) + "ms", {.verb = renew, .ttl = ttl}, true});
  all.push_back({"renew what another has", {.verb = renew, .worker = "w8"}, true});
  for (const JobState to : {JobState::done, JobState::dead, JobState::dropped, JobState::cancelled})
    all.push_back({std::string("finish as ") + to_string(to), {.verb = finish, .to = to}, true});
  for (const bool counts : {true, false})
    for (const Millis in : {Millis(0), Millis(1h)})
      all.push_back({std::string("finish as queued, ") + (counts ? "counts" : "does not count") + ", in " +
                         std::to_string(in.count()) + "ms",
                     {.verb = finish, .to = JobState::queued, .in = in, .counts = counts},
                     true});
  all.push_back({"finish what another has", {.verb = finish, .worker = "w8"}, true});
  return all;
}

}  // namespace
}  // namespace job_cases

std::vector<JobCase> all_job_cases(Micros tick) {
  using namespace job_cases;
  std::vector<Enqueued> kinds;
  for (const OnConflict conflict :
       {OnConflict::drop, OnConflict::wait, OnConflict::raise, OnConflict::replace})
    kinds.push_back({.on_conflict = conflict});
  for (const Unique unique : {Unique::loner, Unique::until_start, Unique::until_success})
    kinds.push_back({.unique = unique});
  kinds.push_back({.unique = Unique::loner, .on_conflict = OnConflict::drop});
  kinds.push_back({.unique = Unique::until_success, .on_conflict = OnConflict::raise});
  for (const int limit : {0, 2}) kinds.push_back({.limit = limit});
  kinds.push_back({.on_conflict = OnConflict::drop, .limit = 2});
  std::vector<JobCase> all;
  for (const Enqueued& kind : kinds)
    for (const State& state : states(kind, tick))
      for (const Question& question : questions())
        if (state.claimed || !question.of_claimed)
          all.push_back({kind.name() + ": " + state.name + "; " + question.name, state.lock_ends, state.steps,
                         question.ask});
  return all;
}

}  // namespace holdfast::test
