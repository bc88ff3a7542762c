// SPDX-License-Identifier: Apache-2.0
// timetable.h - when a schedule ticks, in a time zone.
#pragma once
#include <chrono>
#include <optional>
#include <string_view>

#include "holdfast/result.h"
#include "jobs/cron_spec.h"

namespace date {
class time_zone;
}

namespace holdfast::jobs {

// Since 1970.  A tick is named by its moment.
using Second = std::chrono::seconds;

// When the clock is put forward, a tick of the hour that is left out comes at the moment it is put forward;
// when it is put back, a tick of the hour that comes twice comes the first time only, unless the schedule
// says * for the hour.
class Timetable {
 public:
  // Errc::invalid names what is not known.
  static Result<Timetable> make(std::string_view schedule, std::string_view zone);

  // The first tick behind `then`; none within eight years: there is none, like 30 February.
  std::optional<Second> next(Second then) const;

 private:
  Timetable(CronSpec spec, const date::time_zone* zone) : spec_(spec), zone_(zone) {}
  CronSpec spec_;
  const date::time_zone* zone_;
};

}  // namespace holdfast::jobs
