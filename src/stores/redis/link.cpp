// SPDX-License-Identifier: Apache-2.0
#include "stores/redis/link.h"

#include "base/text.h"
#include "stores/redis/fault.h"

namespace holdfast::redis {
namespace {

using namespace std::chrono_literals;

// Whoever asks again so soon does not look first whether the server is still there.
constexpr Millis briefly = 50ms;

// Does what comes before the caller's request: if it fails, nothing of that can have been applied.
template <class Do>
void nothing_asked(Do what) {
  try {
    what();
  } catch (const Failure& failure) {
    Error error = failure.error();
    if (error.in_doubt()) error.code = Errc::unavailable;
    throw_failure(std::move(error));
  }
}

}  // namespace

Micros time_of(const Value& answer) {
  return std::chrono::seconds(answer[0].number()) + Micros(answer[1].number());
}

Wire& Link::ready(Instant until) {
  const Instant now = BootClock::now();
  if (now >= until)
    throw_failure({Errc::unavailable, "timed out before the request could be sent: the connection was busy"});
  const bool stale = wire_ && (wire_->broken() || (now - used_ > briefly && wire_->abandoned()));
  if (!wire_ || stale) connect(until);
  wire_->forget_unsent();
  used_ = now;
  return *wire_;
}

void Link::learn(Instant sent, Instant received, Micros store) {
  offset_.learn(sent, received, store);
  learned_ = received;
}

// The offset loses a hundredth of its age: here more than a tenth of the time that is left.
void Link::look_at_clock(Instant until) {
  const Instant now = BootClock::now();
  if ((now - learned_) / 100 <= (until - now) / 10) return;
  nothing_asked([&] {
    wire_->command(1).word("TIME");
    wire_->send(until);
    const Answer time = wire_->receive(until);
    if (time->is_error()) throw_failure(to_error(time->text(), *config_));
    learn(now, BootClock::now(), time_of(*time));
  });
}

void Link::connect(Instant until) {
  wire_.reset();
  nothing_asked([&] {
    auto wire = std::make_unique<Wire>(config_, until, true);
    wire->command(1).word("TIME");
    wire->command(1).word("INFO");
    const Instant sent = BootClock::now();
    wire->send(until);
    wire->check_welcome(until);
    const Answer time = wire->receive(until);
    const Instant received = BootClock::now();
    const Answer info = wire->receive(until);
    if (info->is_error()) throw_failure(to_error(info->text(), *config_));
    ServerInfo told(info->text());
    if (Status s = check_server(told, *config_); !s) throw_failure(std::move(s).error());
    if (time->is_error()) throw_failure(to_error(time->text(), *config_));  // a Sentinel knows none
    offset_ = {};
    learn(sent, received, time_of(*time));
    info_ = std::move(told);
    wire_ = std::move(wire);
  });
}

}  // namespace holdfast::redis
