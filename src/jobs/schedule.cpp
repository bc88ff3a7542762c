// SPDX-License-Identifier: Apache-2.0
// Every process that has the schedule tries to enqueue every tick; the store accepts each tick once.
#include "jobs/schedule.h"

#include <algorithm>
#include <atomic>

#include "base/text.h"
#include "base/wakeup.h"
#include "base/worker.h"
#include "holdfast/jobs.h"
#include "jobs/jobs_state.h"
#include "jobs/running.h"
#include "jobs/timetable.h"

namespace holdfast {
namespace jobs {

std::vector<Second> due_ticks(const NextTick& next, const CronOptions& options, Second last, Second now) {
  const Second oldest = now - std::max(std::chrono::floor<Second>(options.deadline), on_time);
  std::vector<Second> ticks;
  for (auto tick = next(std::max(last, oldest - Second(1))); tick && *tick <= now; tick = next(*tick)) {
    const bool missed = now - *tick > on_time;
    switch (options.misfire) {
      case CronOptions::Misfire::skip:
        if (missed) continue;
        break;
      case CronOptions::Misfire::run_once: ticks.clear(); break;
      case CronOptions::Misfire::all: break;
    }
    ticks.push_back(*tick);
  }
  return ticks;
}

JobOptions of_schedule(JobOptions job, CronOptions::Overlap overlap, int attempts) {
  // Every process enqueues every tick, so a duplicate is normal and is not reported.
  job.loner_enqueue_failed = {};
  if (!job.max_attempts) job.max_attempts = attempts;
  JobLock lock = job.lock.value_or(JobLock{.limit = 0});
  switch (overlap) {
    case CronOptions::Overlap::skip:
      lock.loner = false;  // `unique` says it
      if (lock.unique != Unique::until_success) lock.unique = Unique::loner;
      break;
    case CronOptions::Overlap::wait:
      lock.on_conflict = OnConflict::wait;
      job.lock_failed = {};  // it would never be called
      lock.loner = false;
      lock.unique = Unique::no;
      if (lock.limit == 0) lock.limit = 1;
      break;
    case CronOptions::Overlap::allow:
      lock.loner = false;
      lock.unique = Unique::no;
      lock.limit = 0;
      break;
  }
  job.lock = lock;
  return job;
}

}  // namespace jobs

namespace {

using namespace std::chrono_literals;
using jobs::Second;
using jobs::Timetable;

constexpr Millis longest_sleep = 1min;  // the store's clock may be changed
constexpr Millis after_trouble = 5s;

class Schedule {
 public:
  Schedule(std::weak_ptr<JobsState> state, std::string name, Timetable table, CronOptions options)
      : state_(std::move(state)),
        name_(std::move(name)),
        tick_name_("cron:" + name_),
        table_(std::move(table)),
        options_(std::move(options)) {}
  void run();
  void stop() {
    stopped_ = true;
    wakeup_.ring();
  }

 private:
  // Returns the time until the next call.
  Millis enqueue_due_ticks(const std::shared_ptr<JobsState>& state);
  Millis log_failure(const JobsState& state, const std::string& why) const noexcept;
  Status enqueue(const Jobs& jobs, Second tick) const;

  const std::weak_ptr<JobsState> state_;
  const std::string name_, tick_name_;
  const Timetable table_;
  const CronOptions options_;
  std::optional<Second> last_;  // none: not read from the store yet
  std::atomic<bool> stopped_ = false;
  Wakeup wakeup_;
};

void Schedule::run() {
  while (!stopped_) {
    Millis pause = longest_sleep;
    if (const auto state = state_.lock(); state && !ClientAccess::forked(state->client)) {
      try {
        pause = enqueue_due_ticks(state);
      } catch (...) {  // a function of the job threw, or out of memory: try again later
        pause = log_failure(*state, jobs::current_exception_text());
      }
    } else {
      return;
    }
    wakeup_.wait(clamped_add(BootClock::now(), pause));
  }
}

Millis Schedule::log_failure(const JobsState& state, const std::string& why) const noexcept {
  guarded([&] {
    ClientAccess::telemetry(state.client)
        ->log(LogLevel::warning,
              "cannot enqueue the jobs of the schedule " + printable(name_) + ": " + why + "; trying again",
              {{"schedule", name_}, {"error", why}});
  });
  return after_trouble;
}

Millis Schedule::enqueue_due_ticks(const std::shared_ptr<JobsState>& state) {
  const Jobs jobs = JobSchedules::jobs(state);
  const auto row = jobs.try_tick(tick_name_);
  if (!row) return log_failure(*state, row.error().detail);
  const Micros wall = row->now.time_since_epoch();
  const auto now = std::chrono::floor<Second>(wall);
  // A new schedule begins now.  Ticks that other processes have enqueued are skipped.
  if (!last_) last_ = row->tick >= 0 ? Second(row->tick) : now - 1s;
  last_ = std::max(*last_, Second(row->tick));
  const auto next_tick = [this](Second then) { return table_.next(then); };
  for (const Second tick : jobs::due_ticks(next_tick, options_, *last_, now)) {
    if (Status s = enqueue(jobs, tick); !s) return log_failure(*state, s.error().detail);
    last_ = tick;
    if (stopped_) return longest_sleep;  // the next process that has this schedule enqueues the others
  }
  const auto next = table_.next(std::max(*last_, now));
  if (!next) return longest_sleep;
  const auto wait = std::chrono::ceil<Millis>(*next - wall);
  return std::clamp(wait, 1ms, longest_sleep);
}

Status Schedule::enqueue(const Jobs& jobs, Second tick) const {
  const std::string& name = options_.job.empty() ? name_ : options_.job;
  JobOptions options;
  if (const auto state = state_.lock()) {
    if (const auto definition = state->definition(name)) options = definition->options;
  }
  options.lock = jobs::lock_of(options, jobs.client());
  const int attempts = std::min(jobs::attempts_of(options, jobs.client()), jobs::attempts_of_a_tick);
  options = jobs::of_schedule(std::move(options), options_.overlap, attempts);
  const auto result = JobSchedules::enqueue(jobs.at(std::chrono::sys_time<Second>(tick)), name, options_.args,
                                            options, {.name = tick_name_, .tick = tick.count()});
  if (!result) return result.error();
  if (std::holds_alternative<Enqueued>(*result)) return Status{};
  // The last job is not over, so this tick is skipped for good.  Or another process has enqueued it already.
  const auto taken = jobs.try_take_tick({.name = tick_name_, .tick = tick.count()});
  if (!taken) return taken.error();
  return Status{};
}

}  // namespace

void Jobs::cron(std::string name, std::string_view schedule, std::string_view zone, CronOptions options) {
  ClientAccess::check_not_forked(state_->client).value();
  if (options.deadline < 0ms)
    throw_failure(
        {Errc::invalid, "the deadline of the schedule " + printable(name) + " is negative; give 0 or more"});
  Timetable table = Timetable::make(schedule, zone).value();
  if (name.empty()) throw_failure({Errc::invalid, "the name of the schedule is empty; give one"});
  // The schedule ends with the last Jobs (JobsState::for_copies).  The thread owns the schedule, and holds
  // the state only while it enqueues.
  const auto kept = std::make_shared<Schedule>(state_->weak_from_this(), std::move(name), std::move(table),
                                               std::move(options));
  const std::lock_guard lock(state_->mutex);
  state_->schedules.reserve(state_->schedules.size() + 1);  // first: a running thread must be in the list
  state_->schedules.push_back({.stop = [kept] { kept->stop(); }, .thread = Worker([kept] { kept->run(); })});
}

}  // namespace holdfast
