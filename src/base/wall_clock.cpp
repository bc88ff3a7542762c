// SPDX-License-Identifier: Apache-2.0
#include "base/wall_clock.h"

#include <ctime>

namespace holdfast {

Moment wall_now() noexcept {
  timespec t{};
  clock_gettime(CLOCK_REALTIME, &t);
  return Moment(std::chrono::duration_cast<Micros>(std::chrono::seconds(t.tv_sec) +
                                                   std::chrono::nanoseconds(t.tv_nsec)));
}

Millis time_until(std::chrono::sys_time<std::chrono::nanoseconds> moment) noexcept {
  return std::chrono::floor<Millis>(std::chrono::floor<Micros>(moment) - wall_now());
}

std::string format_wall(Moment moment) {
  const std::time_t seconds = std::chrono::floor<std::chrono::seconds>(moment.time_since_epoch()).count();
  std::tm parts{};
  gmtime_r(&seconds, &parts);
  char text[32];
  const std::size_t length = std::strftime(text, sizeof text, "%F %TZ", &parts);
  return std::string(text, length);
}

}  // namespace holdfast
