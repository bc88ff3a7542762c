// SPDX-License-Identifier: Apache-2.0
#include "stores/redis/bell.h"

#include <sys/timerfd.h>

#include <algorithm>
#include <cstdint>

#include "stores/redis/fault.h"

namespace holdfast::redis {
namespace {

using namespace std::chrono_literals;

constexpr Millis patience = 1s;
constexpr Millis longest_pause = 5s;

void arm(int timer, Millis pause) {
  const auto seconds = std::chrono::floor<std::chrono::seconds>(pause);
  const auto rest = std::chrono::nanoseconds(pause - seconds);
  const itimerspec when{{}, {seconds.count(), rest.count()}};
  timerfd_settime(timer, 0, &when, nullptr);
}

}  // namespace

RedisBell::RedisBell(std::shared_ptr<const Site> site)
    : site_(std::move(site)), timer_(timerfd_create(CLOCK_BOOTTIME, TFD_NONBLOCK | TFD_CLOEXEC)) {
  connect();
}

int RedisBell::fd() const noexcept { return wire_ ? wire_->fd() : timer_.get(); }

void RedisBell::connect() noexcept {
  wire_.reset();
  try {
    const Instant until = BootClock::now() + patience;
    auto wire = std::make_unique<Wire>(site_, until, false);
    wire->command(2).word("SUBSCRIBE").word("holdfast:bell:", site_->client);
    wire->send(until);
    wire->check_welcome(until);
    const Answer subscribed = wire->receive(until);
    if (subscribed->is_error()) raise(to_error(subscribed->text(), *site_));
    wire_ = std::move(wire);
    failures_ = 0;
  } catch (const std::exception&) {
    // Waiters look now and then without being rung.
    failures_ = std::min(failures_ + 1, 10);
    arm(timer_.get(), std::min(Millis(100 << failures_), longest_pause));
  }
}

Result<std::vector<std::string>> RedisBell::rung() {
  std::vector<std::string> keys;
  if (wire_) {
    try {
      take(keys);
      if (!keys.empty()) return keys;
      // Something came, but no message: not everybody needs to look.
      if (wire_) return std::vector<std::string>{""};
    } catch (const std::exception&) {
      keys.clear();
    }
  } else {
    std::uint64_t expirations = 0;
    while (::read(timer_.get(), &expirations, sizeof expirations) > 0) {
    }
  }
  connect();
  return keys;
}

void RedisBell::take(std::vector<std::string>& keys) {
  while (const auto answer = wire_->take()) {
    const Value message = **answer;
    if (message.size() == 3 && message[0].text() == "message") keys.emplace_back(message[2].text());
  }
}

}  // namespace holdfast::redis
