// SPDX-License-Identifier: Apache-2.0
#include "base/fd.h"

#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <ctime>

namespace holdfast {

bool await(int fd, short events, Instant until) noexcept {
  using namespace std::chrono;
  while (true) {
    const nanoseconds left = std::max(until - BootClock::now(), nanoseconds::zero());
    // At most a minute at once: the clock of ppoll() stops while the machine is suspended, ours does not.
    const nanoseconds turn = std::min<nanoseconds>(left, minutes(1));
    const auto whole = duration_cast<seconds>(turn);
    const timespec limit{static_cast<time_t>(whole.count()), static_cast<long>((turn - whole).count())};
    pollfd one{fd, events, 0};
    const int ready = ::ppoll(&one, 1, &limit, nullptr);
    if (ready > 0) return true;
    if (ready < 0 && errno != EINTR) return true;  // the caller's next read or write reports the error
    if (ready == 0 && turn == left) return false;
  }
}

}  // namespace holdfast
