// SPDX-License-Identifier: Apache-2.0
// Jobs by the clock.  Every process that has the schedule enqueues every tick; the store lets one of them in.
#include <algorithm>
#include <atomic>

#include "base/text.h"
#include "base/wakeup.h"
#include "base/worker.h"
#include "holdfast/jobs.h"
#include "jobs/jobs_state.h"
#include "jobs/timetable.h"

namespace holdfast {
namespace {

using namespace std::chrono_literals;
using jobs::Second;
using jobs::Timetable;

constexpr Millis patience = 10s;        // with a store that hangs while the schedule ends
constexpr Millis longest_sleep = 1min;  // the store's clock may be set
constexpr Millis after_trouble = 5s;
constexpr Second on_time = 60s;  // a tick that is no older has not been missed

// The ticks behind `last` that are due at `now` and not to be left out.
std::vector<Second> due_ticks(const Timetable& table, const CronOptions& options, Second last, Second now) {
  const auto deadline = std::chrono::floor<Second>(options.deadline);
  std::vector<Second> ticks;
  for (auto tick = table.next(std::max(last, now - std::max(deadline, on_time) - 1s)); tick && *tick <= now;
       tick = table.next(*tick)) {
    const bool missed = now - *tick > on_time;
    if (missed && options.misfire == CronOptions::Misfire::skip) continue;
    if (!ticks.empty() && options.misfire == CronOptions::Misfire::run_once) ticks.clear();
    ticks.push_back(*tick);
  }
  return ticks;
}

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
  // Until the next look.
  Millis look(const std::shared_ptr<JobsState>& state);
  Status enqueue(const Jobs& jobs, Second tick) const;

  const std::weak_ptr<JobsState> state_;
  const std::string name_, tick_name_;
  const Timetable table_;
  const CronOptions options_;
  std::optional<Second> last_;  // none: the store has not been asked yet
  std::atomic<bool> stopped_ = false;
  Wakeup wakeup_;
};

}  // namespace

// The way of a schedule to what is private.
struct JobSchedules {
  static Jobs jobs(std::shared_ptr<JobsState> state) { return Jobs(std::move(state), {}); }
};

namespace {

void Schedule::run() {
  while (!stopped_) {
    Millis pause = longest_sleep;
    if (const auto state = state_.lock()) {
      pause = look(state);
    } else {
      return;
    }
    wakeup_.wait(after(BootClock::now(), pause));
  }
}

Millis Schedule::look(const std::shared_ptr<JobsState>& state) {
  const Jobs jobs = JobSchedules::jobs(state);
  const auto trouble = [&](const Error& error) {
    const auto& log = Adoption::options(state->client).log;
    if (log) log("the schedule " + printable(name_) + " cannot be kept just now: " + error.detail);
    return after_trouble;
  };
  const auto row = jobs.try_tick(tick_name_);
  if (!row) return trouble(row.error());
  const auto now = std::chrono::floor<Second>(row->now);
  // One that nobody has kept yet begins now; what others have enqueued is behind us.
  if (!last_) last_ = row->tick >= 0 ? Second(row->tick) : now - 1s;
  last_ = std::max(*last_, Second(row->tick));
  for (const Second tick : due_ticks(table_, options_, *last_, now)) {
    if (Status s = enqueue(jobs, tick); !s) return trouble(s.error());
    last_ = tick;
  }
  const auto next = table_.next(std::max(*last_, now));
  if (!next) return longest_sleep;
  const auto wait = std::chrono::ceil<Millis>(Micros(*next) - row->now);
  return std::clamp(wait, 1ms, longest_sleep);
}

Status Schedule::enqueue(const Jobs& jobs, Second tick) const {
  const std::string& name = options_.job.empty() ? name_ : options_.job;
  JobOptions options;
  if (const auto state = state_.lock()) {
    if (const auto definition = state->definition(name)) options = definition->options;
  }
  switch (options_.overlap) {
    case CronOptions::Overlap::skip:
      if (options.lock.unique == Unique::no) options.lock.unique = Unique::loner;
      break;
    case CronOptions::Overlap::wait: options.lock.on_conflict = OnConflict::wait; break;
    case CronOptions::Overlap::allow: options.lock.limit = 0; break;
  }
  const auto told =
      jobs.at(Micros(tick)).try_enqueue(name, options_.args, options, JobTick{tick_name_, tick.count()});
  if (!told) return told.error();
  return ok();
}

}  // namespace

void Jobs::cron(std::string name, std::string_view schedule, std::string_view zone, CronOptions options) {
  if (options.deadline < 0ms)
    raise({Errc::invalid, "the deadline of the schedule " + printable(name) + " is negative"});
  Timetable table = Timetable::make(schedule, zone).value();
  if (name.empty()) raise({Errc::invalid, "a schedule needs a name"});
  // It ends with the last Jobs: the thread owns the schedule, and the schedule only looks at the state.
  struct Kept {
    std::shared_ptr<Schedule> schedule;
    Worker thread;
    ~Kept() {
      schedule->stop();
      thread.finish(patience);
    }
  };
  auto kept = std::make_shared<Kept>();
  kept->schedule = std::make_shared<Schedule>(state_, std::move(name), std::move(table), std::move(options));
  kept->thread = Worker([schedule = kept->schedule] { schedule->run(); });
  const std::lock_guard lock(state_->mutex);
  state_->schedules.push_back(std::move(kept));
}

}  // namespace holdfast
