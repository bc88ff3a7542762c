// SPDX-License-Identifier: Apache-2.0
// Jobs by the clock.  Every process that has the schedule enqueues every tick; the store lets one of them in.
#include <algorithm>
#include <atomic>

#include "base/fd.h"
#include "base/text.h"
#include "base/worker.h"
#include "holdfast/jobs.h"
#include "jobs/due_ticks.h"
#include "jobs/jobs_state.h"
#include "jobs/running.h"
#include "jobs/ticks.h"
#include "jobs/timetable.h"

namespace holdfast {
namespace {

using namespace std::chrono_literals;
using jobs::Second;
using jobs::Timetable;

constexpr Millis longest_sleep = 1min;  // the store's clock may be set
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
  // Until the next look.
  Millis look(const std::shared_ptr<JobsState>& state);
  Millis trouble(const JobsState& state, const std::string& why) const noexcept;
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
    if (const auto state = state_.lock(); state && !ClientAccess::forked(state->client)) {
      try {
        pause = look(state);
      } catch (...) {  // a function of the job's, or no memory: not for ever
        pause = trouble(*state, jobs::current_exception_text());
      }
    } else {
      return;
    }
    wakeup_.wait(clamped_add(BootClock::now(), pause));
  }
}

Millis Schedule::trouble(const JobsState& state, const std::string& why) const noexcept {
  guarded([&] {
    ClientAccess::telemetry(state.client)
        .log(LogLevel::warning,
             "cannot enqueue the jobs of the schedule " + printable(name_) + ": " + why + "; trying again",
             {{"schedule", name_}, {"error", why}});
  });
  return after_trouble;
}

Millis Schedule::look(const std::shared_ptr<JobsState>& state) {
  const Jobs jobs = JobSchedules::jobs(state);
  const auto row = Ticks::last(jobs, tick_name_);
  if (!row) return trouble(*state, row.error().detail);
  const Micros wall = row->now.time_since_epoch();
  const auto now = std::chrono::floor<Second>(wall);
  // One that nobody has kept yet begins now; what others have enqueued is behind us.
  if (!last_) last_ = row->tick >= 0 ? Second(row->tick) : now - 1s;
  last_ = std::max(*last_, Second(row->tick));
  const auto next_tick = [this](Second then) { return table_.next(then); };
  for (const Second tick : jobs::due_ticks(next_tick, options_, *last_, now)) {
    if (Status s = enqueue(jobs, tick); !s) return trouble(*state, s.error().detail);
    last_ = tick;
    if (stopped_) return longest_sleep;  // whoever keeps it next makes up for the others
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
  const auto told = Ticks::enqueue(jobs.at(std::chrono::sys_time<Second>(tick)), name, options_.args, options,
                                   {.name = tick_name_, .tick = tick.count()});
  if (!told) return told.error();
  if (std::holds_alternative<Enqueued>(*told)) return Status{};
  // Left out, as the last one is not over: nobody is to make up for it.  Or somebody has had it already.
  const auto taken = Ticks::take(jobs, {.name = tick_name_, .tick = tick.count()});
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
  // It ends with the last Jobs (JobsState::for_copies).  The thread owns the schedule, and has the state for
  // as long as it looks.
  const auto kept = std::make_shared<Schedule>(state_->weak_from_this(), std::move(name), std::move(table),
                                               std::move(options));
  const std::lock_guard lock(state_->mutex);
  state_->schedules.reserve(state_->schedules.size() + 1);  // a thread that runs is one that is known
  state_->schedules.push_back({.stop = [kept] { kept->stop(); }, .thread = Worker([kept] { kept->run(); })});
}

}  // namespace holdfast
