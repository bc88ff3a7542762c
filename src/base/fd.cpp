// SPDX-License-Identifier: Apache-2.0
#include "base/fd.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <ctime>
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
