// SPDX-License-Identifier: Apache-2.0
#include "cli/connect_retry.h"

#include <algorithm>

#include "base/time.h"
#include "base/wakeup.h"
#include "cli/output.h"
#include "holdfast/options.h"

namespace holdfast::cli {
namespace {

using namespace std::chrono_literals;

constexpr Millis restart_time = 10s;
constexpr Millis first_pause = 20ms, longest_pause = 500ms;

}  // namespace

ConnectRetry::ConnectRetry(Millis wait, std::stop_token stop)
    : wait_(wait), stop_(std::move(stop)), began_(BootClock::now()), jitter_(random_bits()) {}

Millis ConnectRetry::limit() const { return wait_ == forever ? restart_time : wait_; }

Millis ConnectRetry::for_opening() const {
  constexpr Millis at_least = 100ms;
  const Millis usual = ClientOptions{}.connect_wait;
  if (wait_ == Millis::zero()) return usual;
  return std::clamp(std::chrono::ceil<Millis>(clamped_add(began_, limit()) - BootClock::now()), at_least,
                    usual);
}

holdfast::Wait ConnectRetry::left() const {
  if (wait_ == forever) return forever;
  const Millis used = std::chrono::floor<std::chrono::seconds>(BootClock::now() - began_);
  return std::max(wait_ - used, Millis::zero());
}

bool ConnectRetry::pause(const Error& error) {
  const Instant now = BootClock::now();
  const Instant end = clamped_add(began_, limit());
  if (!error.retryable() || now >= end) return false;
  // A user who waits for minutes should know why.  A short restart is not reported: cron would mail it.
  if (!reported_ && now >= clamped_add(began_, restart_time)) {
    reported_ = true;
    complain(error.detail + "; trying again for another " +
             format_duration(std::chrono::ceil<std::chrono::seconds>(end - now)));
  }
  Wakeup wakeup;
  const std::stop_callback wake(stop_, [&] { wakeup.ring(); });
  const Millis length = std::min(longest_pause, first_pause * (1 << std::min(pauses_++, 16)));
  const auto jittered = std::chrono::floor<Millis>(length * (0.75 + jitter_.fraction() / 4));
  wakeup.wait(std::min(end, clamped_add(now, jittered)));
  return !stop_.stop_requested();
}

Error ConnectRetry::gave_up(Error error) const {
  if (pauses_ > 0 && error.retryable())
    error.detail = "gave up after " + format_duration(limit()) + ": " + error.detail;
  return error;
}

}  // namespace holdfast::cli
