// SPDX-License-Identifier: Apache-2.0
#include "holdfast/clock.h"

#include <ctime>

namespace holdfast {

Instant BootClock::now() noexcept {
  timespec t{};
  clock_gettime(CLOCK_BOOTTIME, &t);  // a read of the vDSO page: no system call, cannot fail
  return Instant(std::chrono::seconds(t.tv_sec) + std::chrono::nanoseconds(t.tv_nsec));
}

}  // namespace holdfast
