// SPDX-License-Identifier: Apache-2.0
#include "stores/redis/listener.h"

#include <sys/epoll.h>
#include <sys/timerfd.h>

#include <algorithm>
#include <cstdint>

#include "stores/redis/fault.h"

namespace holdfast::redis {
namespace {

using namespace std::chrono_literals;

constexpr Millis patience = 1s;
constexpr Millis longest_pause = 5s;
constexpr Millis longest_silence = 3s;  // then it is asked for a sign of life
constexpr Millis answer_limit = 2s;     // and has so long for it

void arm(int timer, Millis pause) {
  const auto seconds = std::chrono::floor<std::chrono::seconds>(pause);
  const auto rest = std::chrono::nanoseconds(pause - seconds);
  const itimerspec when{{}, {seconds.count(), rest.count()}};
  timerfd_settime(timer, 0, &when, nullptr);
}

bool is_over(int timer) {
  std::uint64_t expirations = 0;
  return ::read(timer, &expirations, sizeof expirations) > 0;
}

void watch(int events, int fd) {
  epoll_event readable{.events = EPOLLIN, .data = {.fd = fd}};
  epoll_ctl(events, EPOLL_CTL_ADD, fd, &readable);
}

}  // namespace

RedisListener::RedisListener(std::shared_ptr<const StoreConfig> config)
    : config_(std::move(config)),
      timer_(timerfd_create(CLOCK_BOOTTIME, TFD_NONBLOCK | TFD_CLOEXEC)),
      events_(epoll_create1(EPOLL_CLOEXEC)) {
  watch(events_.get(), timer_.get());
  connect();
}

void RedisListener::subscribe(Wire& wire, Instant until) const {
  wire.command(2).word("SUBSCRIBE").word("holdfast:bell:", config_->client);
  wire.send(until);
}

void RedisListener::connect() noexcept {
  disconnect();
  try {
    const Instant until = BootClock::now() + patience;
    auto wire = std::make_unique<Wire>(config_, until, false);
    subscribe(*wire, until);
    wire->check_welcome(until);
    const Answer subscribed = wire->receive(until);
    if (subscribed->is_error()) throw_failure(to_error(subscribed->text(), *config_));
    wire_ = std::move(wire);
    watch(events_.get(), wire_->fd());
    failures_ = 0;
    asked_ = false;
    arm(timer_.get(), longest_silence);
  } catch (const std::exception&) {
    // Waiters look now and then without being notified.
    failures_ = std::min(failures_ + 1, 10);
    arm(timer_.get(), std::min(Millis(100 << failures_), longest_pause));
  }
}

// Before it is closed: a child after fork() may have it open still, and then it would be watched on.
void RedisListener::disconnect() noexcept {
  if (wire_) epoll_ctl(events_.get(), EPOLL_CTL_DEL, wire_->fd(), nullptr);
  wire_.reset();
}

Result<std::vector<std::string>> RedisListener::ready() {
  const bool time_is_over = is_over(timer_.get());
  if (wire_) {
    try {
      std::vector<std::string> keys;
      if (take(keys)) {
        asked_ = false;
        arm(timer_.get(), longest_silence);
      } else if (time_is_over) {
        ask_for_life();
      }
      // Where no key rang, not everybody needs to look.
      return keys.empty() ? std::vector<std::string>{""} : keys;
    } catch (const std::exception&) {
      // Broken, or silent for too long.
    }
  }
  connect();
  return std::vector<std::string>{};  // anything may have happened meanwhile
}

bool RedisListener::take(std::vector<std::string>& keys) {
  bool heard = false;
  while (const auto answer = wire_->take()) {
    heard = true;
    const Value message = **answer;
    if (message.size() == 3 && message[0].text() == "message") keys.emplace_back(message[2].text());
  }
  return heard;
}

void RedisListener::ask_for_life() {
  if (asked_)
    throw_failure({Errc::unavailable, "timed out: the server does not answer on the listening connection"});
  subscribe(*wire_, BootClock::now() + patience);
  asked_ = true;
  arm(timer_.get(), answer_limit);
}

}  // namespace holdfast::redis
