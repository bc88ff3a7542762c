// SPDX-License-Identifier: Apache-2.0
#include "base/poll.h"

#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <ctime>

namespace holdfast {

bool await(int fd, short events, Instant until) noexcept {
  using namespace std::chrono;
  while (true) {
    const nanoseconds left = std::max(until - BootClock::now(), nanoseconds::zero());
    // At most a minute at once: the kernel's clock for this stops while the machine sleeps, and ours does
    // not.
    const nanoseconds turn = std::min<nanoseconds>(left, minutes(1));
    const auto whole = duration_cast<seconds>(turn);
    const timespec limit{static_cast<time_t>(whole.count()), static_cast<long>((turn - whole).count())};
    pollfd one{fd, events, 0};
    const int ready = ::ppoll(&one, 1, &limit, nullptr);
    if (ready > 0) return true;
    if (ready < 0 && errno != EINTR) return true;  // let whoever uses it find out
    if (ready == 0 && turn == left) return false;
  }
}

}  // namespace holdfast
