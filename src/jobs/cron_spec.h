// SPDX-License-Identifier: Apache-2.0
// cron_spec.h - the five fields of a crontab line.
#pragma once
#include <bitset>
#include <string_view>

#include "holdfast/result.h"

namespace holdfast::jobs {

// A day and a time of day, of no particular zone.
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
  // It ticks in every hour, whatever that is called.
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

}  // namespace holdfast::jobs
