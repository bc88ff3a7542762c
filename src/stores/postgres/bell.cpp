// SPDX-License-Identifier: Apache-2.0
#include "stores/postgres/bell.h"

#include <sys/timerfd.h>

namespace holdfast::postgres {
namespace {

using namespace std::chrono_literals;

constexpr Millis one_attempt = 1s;
constexpr time_t pause_s = 1;

}  // namespace

ListenBell::ListenBell(std::shared_ptr<const Site> site)
    : site_(std::move(site)), timer_(timerfd_create(CLOCK_BOOTTIME, TFD_NONBLOCK | TFD_CLOEXEC)) {
  listen();
}

void ListenBell::listen() noexcept {
  try {
    const Instant until = BootClock::now() + one_attempt;
    connection_.emplace(site_->settings, until);
    Parameters none;
    const Answer answer = connection_->run("LISTEN " + site_->channel(), none, until);
    if (!answer.trouble()) return;
  } catch (const std::exception&) {
    // Waiters look now and then without being rung.
  }
  connection_.reset();
  const itimerspec once{{0, 0}, {pause_s, 0}};
  timerfd_settime(timer_.get(), 0, &once, nullptr);
}

Result<std::vector<std::string>> ListenBell::rung() {
  std::vector<std::string> keys;
  if (connection_ && connection_->take_notices(keys)) return keys;
  connection_.reset();
  listen();
  return std::vector<std::string>{};  // anything may have happened meanwhile
}

}  // namespace holdfast::postgres
