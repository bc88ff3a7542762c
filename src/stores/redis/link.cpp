// SPDX-License-Identifier: Apache-2.0
#include "stores/redis/link.h"

#include "base/text.h"
#include "stores/redis/fault.h"

namespace holdfast::redis {
namespace {

using namespace std::chrono_literals;

// Whoever asks again so soon does not look first whether the server is still there.
constexpr Millis briefly = 50ms;

}  // namespace

Micros time_of(const Value& answer) {
  return std::chrono::seconds(answer[0].number()) + Micros(answer[1].number());
}

Wire& Link::ready(Instant until) {
  const Instant now = BootClock::now();
  if (now >= until) raise({Errc::unavailable, "the request came too late"});
  const bool stale = wire_ && (wire_->broken() || (now - used_ > briefly && wire_->abandoned()));
  if (!wire_ || stale) connect(until);
  wire_->forget_unsent();
  used_ = now;
  return *wire_;
}

void Link::connect(Instant until) {
  wire_.reset();
  try {
    auto wire = std::make_unique<Wire>(site_, until, true);
    wire->command(1).word("TIME");
    wire->command(1).word("INFO");
    const Instant sent = BootClock::now();
    wire->send(until);
    wire->check_welcome(until);
    const Answer time = wire->receive(until);
    const Instant received = BootClock::now();
    const Answer info = wire->receive(until);
    for (const Answer* answer : {&time, &info}) {
      if ((*answer)->is_error()) raise(to_error((*answer)->text(), *site_));
    }
    ServerInfo told(info->text());
    if (Status s = check_server(told, *site_); !s) raise(std::move(s).error());
    offset_ = {};
    offset_.learn(sent, received, time_of(*time));
    info_ = std::move(told);
    wire_ = std::move(wire);
  } catch (const Failure& failure) {
    Error error = failure.error();
    // Nothing of the caller's was sent yet, so nothing of it can have been applied.
    if (error.in_doubt()) error.code = Errc::unavailable;
    raise(std::move(error));
  }
}

}  // namespace holdfast::redis
