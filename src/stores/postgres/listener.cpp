// SPDX-License-Identifier: Apache-2.0
#include "stores/postgres/listener.h"

#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <cstdint>

namespace holdfast::postgres {
namespace {

using namespace std::chrono_literals;

constexpr Millis one_attempt = 1s;
constexpr std::chrono::seconds pause_s{1};  // before another attempt to connect
constexpr std::chrono::seconds longest_silence{3}, longest_answer{2};

void arm(int timer, std::chrono::seconds length) noexcept {
  const itimerspec once{{0, 0}, {length.count(), 0}};
  timerfd_settime(timer, 0, &once, nullptr);
}

void watch(int either, int fd) noexcept {
  epoll_event readable{.events = EPOLLIN, .data = {}};
  epoll_ctl(either, EPOLL_CTL_ADD, fd, &readable);
}

}  // namespace

PostgresListener::PostgresListener(std::shared_ptr<const StoreConfig> config, Instant until)
    : config_(std::move(config)),
      timer_(timerfd_create(CLOCK_BOOTTIME, TFD_NONBLOCK | TFD_CLOEXEC)),
      either_(epoll_create1(EPOLL_CLOEXEC)) {
  watch(either_.get(), timer_.get());
  listen(std::min(until, BootClock::now() + one_attempt));
}

void PostgresListener::listen(Instant until) noexcept {
  try {
    connection_.emplace(config_->settings, until);
    Parameters none;
    const Answer answer = connection_->run("LISTEN " + config_->channel(), none, until);
    if (!answer.trouble()) {
      watch(either_.get(), connection_->fd());
      return arm(timer_.get(), longest_silence);
    }
  } catch (const std::exception&) {
    // Waiters look now and then without being notified.
  }
  connection_.reset();
  arm(timer_.get(), pause_s);
}

void PostgresListener::hang_up() noexcept {
  if (!connection_) return;
  // By hand: where a child of ours has a copy of the descriptor, closing ours would leave it there.
  epoll_ctl(either_.get(), EPOLL_CTL_DEL, connection_->fd(), nullptr);
  connection_.reset();
}

bool PostgresListener::is_alive(bool time_is_over) {
  if (time_is_over && (connection_->pinged() || !connection_->ping())) return false;
  arm(timer_.get(), connection_->pinged() ? longest_answer : longest_silence);
  return true;
}

Result<std::vector<std::string>> PostgresListener::ready() {
  std::vector<std::string> keys;
  std::uint64_t times = 0;
  const bool time_is_over = ::read(timer_.get(), &times, sizeof times) > 0;
  if (connection_ && connection_->take_notices(keys) && is_alive(time_is_over)) {
    if (keys.empty()) keys.emplace_back();  // not everybody needs to look
    return keys;
  }
  hang_up();
  listen(BootClock::now() + one_attempt);
  return std::vector<std::string>{};  // anything may have happened meanwhile
}

}  // namespace holdfast::postgres
