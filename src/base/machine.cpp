// SPDX-License-Identifier: Apache-2.0
// What the library takes from the machine: its clocks and its random numbers.  The simulator has its own.
#include <sys/random.h>

#include <cerrno>
#include <ctime>
#include <system_error>

#include "base/random.h"
#include "base/time.h"

namespace holdfast {

Instant BootClock::now() noexcept {
  timespec t{};
  clock_gettime(CLOCK_BOOTTIME, &t);  // a read of the vDSO page: no system call, cannot fail
  return Instant(std::chrono::seconds(t.tv_sec) + std::chrono::nanoseconds(t.tv_nsec));
}

Moment wall_now() noexcept {
  timespec t{};
  clock_gettime(CLOCK_REALTIME, &t);
  return Moment(std::chrono::duration_cast<Micros>(std::chrono::seconds(t.tv_sec) +
                                                   std::chrono::nanoseconds(t.tv_nsec)));
}

std::uint64_t random_bits() {
  std::uint64_t bits = 0;
  while (getrandom(&bits, sizeof bits, 0) != sizeof bits) {
    if (errno != EINTR) throw std::system_error(errno, std::generic_category(), "getrandom");
  }
  return bits;
}

}  // namespace holdfast
