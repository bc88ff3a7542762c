// SPDX-License-Identifier: Apache-2.0
#include "base/wakeup.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <system_error>

namespace holdfast {
namespace {

Fd opened(int fd, const char* what) {
  if (fd < 0) throw std::system_error(errno, std::generic_category(), what);
  return Fd(fd);
}

void arm(int timer, Instant at) {
  itimerspec when{};  // all zero disarms the timer: Instant::max() never comes
  if (at != Instant::max()) {
    const auto since_boot = std::max(at.time_since_epoch(), BootClock::duration(1));
    const auto seconds = std::chrono::floor<std::chrono::seconds>(since_boot);
    when.it_value.tv_sec = seconds.count();
    when.it_value.tv_nsec = (since_boot - seconds).count();
  }
  timerfd_settime(timer, TFD_TIMER_ABSTIME, &when, nullptr);
}

void drain(int fd) {
  std::uint64_t count = 0;
  while (::read(fd, &count, sizeof count) < 0 && errno == EINTR) {
  }
}

}  // namespace

Wakeup::Wakeup()
    : timer_(opened(timerfd_create(CLOCK_BOOTTIME, TFD_NONBLOCK | TFD_CLOEXEC), "timerfd_create")),
      event_(opened(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC), "eventfd")) {}

void Wakeup::ring() noexcept {
  const std::uint64_t one = 1;
  while (::write(event_.get(), &one, sizeof one) < 0 && errno == EINTR) {
  }
}

Wakeup::Why Wakeup::wait(Instant at, int extra_fd) {
  arm(timer_.get(), at);
  pollfd fds[] = {{event_.get(), POLLIN, 0}, {timer_.get(), POLLIN, 0}, {extra_fd, POLLIN, 0}};
  while (::poll(fds, 3, -1) < 0 && errno == EINTR) {
  }
  if (fds[0].revents != 0) {
    drain(event_.get());
    return Why::ready;
  }
  if (fds[2].revents != 0) return Why::extra;
  drain(timer_.get());
  return Why::moment;
}

}  // namespace holdfast
