// SPDX-License-Identifier: Apache-2.0
// timetable.h - when a schedule ticks: the five fields of a crontab line, in a time zone.
#pragma once
#include <bitset>
#include <chrono>
#include <optional>
#include <string_view>

#include "holdfast/result.h"

namespace date {
class time_zone;
}

namespace holdfast::jobs {

// A day and a time of day, in any time zone.
struct CivilMinute {
  int year = 1970;
  unsigned month = 1, day = 1;  // from 1
  unsigned weekday = 0;         // Sunday is 0
  int hour = 0, minute = 0;
};

// "minute hour day month weekday": numbers, names (jan, mon), lists, ranges, steps, *.  Or @hourly, @daily,
// @midnight, @weekly, @monthly, @yearly, @annually.  As in cron, a day fits if either of day and weekday
// does, unless one of them is *.
class CronSpec {
 public:
  static Result<CronSpec> parse(std::string_view text);

  bool has_day(const CivilMinute& at) const;
  // Whether it ticks in every hour.
  bool any_hour() const noexcept { return hours_.all(); }
  bool has_time(int hour, int minute) const {
    return hours_.test(static_cast<std::size_t>(hour)) && minutes_.test(static_cast<std::size_t>(minute));
  }

 private:
  std::bitset<60> minutes_;
  std::bitset<24> hours_;
  std::bitset<32> days_;
  std::bitset<13> months_;
  std::bitset<8> weekdays_;
  bool any_day_ = false, any_weekday_ = false;
};

// Since 1970.  A tick is named by its moment.
using Second = std::chrono::seconds;

// If the clock is set forward, a tick in the skipped hour comes at the moment of the change.  If it is set
// back, a tick in the repeated hour comes the first time only, unless the hour of the schedule is *.
class Timetable {
 public:
  // Errc::invalid: the schedule or the time zone is not valid.
  static Result<Timetable> make(std::string_view schedule, std::string_view zone);

  // The first tick after `then`; none if there is none within eight years, as for 30 February.
  std::optional<Second> next(Second then) const;

 private:
  Timetable(CronSpec spec, const date::time_zone* zone) : spec_(spec), zone_(zone) {}
  CronSpec spec_;
  const date::time_zone* zone_;
};

}  // namespace holdfast::jobs
