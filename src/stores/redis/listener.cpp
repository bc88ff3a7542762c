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
constexpr Millis longest_silence = 3s;  // then the server is asked whether it is still there
constexpr Millis answer_limit = 2s;     // and has so long to answer

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

RedisListener::RedisListener(std::shared_ptr<const StoreConfig> config, Instant until)
    : config_(std::move(config)),
      timer_(timerfd_create(CLOCK_BOOTTIME, TFD_NONBLOCK | TFD_CLOEXEC)),
      events_(epoll_create1(EPOLL_CLOEXEC)) {
  watch(events_.get(), timer_.get());
  connect(std::min(until, BootClock::now() + patience));
}

void RedisListener::subscribe(Connection& connection, Instant until) const {
  connection.command(2).word("SUBSCRIBE").word("holdfast:bell:", config_->client);
  connection.send(until);
}

void RedisListener::connect(Instant until) noexcept {
  disconnect();
  try {
    auto connection = std::make_unique<Connection>(config_, until, false);
    subscribe(*connection, until);
    connection->check_login(until);
    checked(connection->receive(until), *config_);
    connection_ = std::move(connection);
    watch(events_.get(), connection_->fd());
    failures_ = 0;
    checking_ = false;
    arm(timer_.get(), longest_silence);
  } catch (const std::exception&) {
    // Waiters poll meanwhile.
    failures_ = std::min(failures_ + 1, 10);
    arm(timer_.get(), std::min(Millis(100 << failures_), longest_pause));
  }
}

// Before it is closed: a child after fork() may have it open still, and then it would be watched on.
void RedisListener::disconnect() noexcept {
  if (connection_) epoll_ctl(events_.get(), EPOLL_CTL_DEL, connection_->fd(), nullptr);
  connection_.reset();
}

Result<std::vector<std::string>> RedisListener::ready() {
  const bool time_is_over = is_over(timer_.get());
  if (connection_) {
    try {
      std::vector<std::string> keys;
      if (take(keys)) {
        checking_ = false;
        arm(timer_.get(), longest_silence);
      } else if (time_is_over) {
        check_alive();
      }
      // No key: no waiter needs to check its own.
      return keys.empty() ? std::vector<std::string>{""} : keys;
    } catch (const std::exception&) {
      // Broken, or silent for too long.
    }
  }
  connect(BootClock::now() + patience);
  return std::vector<std::string>{};  // anything may have happened meanwhile
}

bool RedisListener::take(std::vector<std::string>& keys) {
  bool received = false;
  while (const auto answer = connection_->take()) {
    received = true;
    const Value& message = *answer;
    if (message.size() == 3 && message[0].text() == "message") keys.emplace_back(message[2].text());
  }
  return received;
}

void RedisListener::check_alive() {
  if (checking_)
    throw_failure({Errc::unavailable, "timed out: the server does not answer on the listening connection"});
  subscribe(*connection_, BootClock::now() + patience);
  checking_ = true;
  arm(timer_.get(), answer_limit);
}

}  // namespace holdfast::redis
