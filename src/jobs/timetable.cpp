// SPDX-License-Identifier: Apache-2.0
#include "jobs/timetable.h"

#include <date/tz.h>

#include <atomic>
#include <stdexcept>
#include <string>
#include <thread>

#include "base/text.h"
#include "holdfast/clock.h"

namespace holdfast::jobs {
namespace {

using namespace std::chrono_literals;

constexpr int days_to_look = 366 * 8;

// The zones are a static object of their library, and go when the process ends: a schedule of a static Jobs,
// or one that nobody could wait for, may look at them even then.
class Zones {
 public:
  static const date::time_zone* find(std::string_view name) {
    const date::time_zone* const zone = date::locate_zone(std::string(name));
    static const End before_theirs;  // made after them
    return zone;
  }

  // They stay while there is one, unless they have gone.
  class Reading {
   public:
    Reading() { ++all().readers_; }
    ~Reading() { --all().readers_; }
    Reading(const Reading&) = delete;
    Reading& operator=(const Reading&) = delete;
    explicit operator bool() const { return !all().gone_; }
  };

 private:
  struct End {
    ~End() {
      all().gone_ = true;
      // A reader takes no longer; in a child after fork() there may be one that never ends.
      const Instant enough = clamped_add(BootClock::now(), 1s);
      while (all().readers_ > 0 && BootClock::now() < enough) std::this_thread::yield();
    }
  };
  static Zones& all() {
    static Zones& never_destroyed = *new Zones;
    return never_destroyed;
  }

  std::atomic<int> readers_ = 0;
  std::atomic<bool> gone_ = false;
};

}  // namespace

Result<Timetable> Timetable::make(std::string_view schedule, std::string_view zone) {
  auto spec = CronSpec::parse(schedule);
  if (!spec) return std::move(spec).error();
  try {
    return Timetable(*std::move(spec), Zones::find(zone));
  } catch (const std::runtime_error&) {
    return Error{Errc::invalid,
                 "\"" + printable(zone) +
                     "\" is not a time zone that this machine knows; write one like Europe/Berlin, or UTC"};
  }
}

std::optional<Second> Timetable::next(Second then) const {
  const Zones::Reading zones;
  if (!zones) return std::nullopt;
  const auto local = date::floor<date::days>(zone_->to_local(date::sys_seconds(then)));
  // From the day before: an hour that was left out may put a tick on another day.
  for (int i = -1; i <= days_to_look; ++i) {
    const date::local_days day = local + date::days(i);
    const date::year_month_day civil{day};
    const CivilMinute at{.year = int{civil.year()},
                         .month = unsigned{civil.month()},
                         .day = unsigned{civil.day()},
                         .weekday = date::weekday(day).c_encoding()};
    if (!spec_.has_day(at)) continue;
    std::optional<Second> first;
    const auto consider = [&](date::local_seconds moment, date::choose which) {
      const Second tick = zone_->to_sys(moment, which).time_since_epoch();
      if (tick > then && (!first || tick < *first)) first = tick;
    };
    for (int hour = 0; hour < 24; ++hour) {
      for (int minute = 0; minute < 60; ++minute) {
        if (!spec_.has_time(hour, minute)) continue;
        const date::local_seconds moment = day + std::chrono::hours(hour) + std::chrono::minutes(minute);
        consider(moment, date::choose::earliest);
        if (spec_.any_hour()) consider(moment, date::choose::latest);
      }
    }
    if (first) return first;
  }
  return std::nullopt;
}

}  // namespace holdfast::jobs
