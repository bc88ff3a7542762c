// SPDX-License-Identifier: Apache-2.0
#include "stores/decorators/faulty.h"

#include <algorithm>

#include "base/wakeup.h"

namespace holdfast {
namespace {

void sleep_until(Instant at) { Wakeup().wait(at); }

Error lost_on_the_way() { return {Errc::in_doubt, "planted fault: no answer"}; }

}  // namespace

Status Faulty::apply(std::span<const Request> requests, std::span<Reply> replies, Instant until) {
  const Fault fault = choose_(requests);
  const Instant end = clamped_add(BootClock::now(), fault.length);
  switch (fault.kind) {
    case Fault::Kind::none: return connection_->apply(requests, replies, until);
    case Fault::Kind::refuse_before: return Error{Errc::unavailable, "planted fault: not reached"};
    case Fault::Kind::lose_before: return lost_on_the_way();
    case Fault::Kind::lose_after: {
      const Status status = connection_->apply(requests, replies, until);
      return status ? lost_on_the_way() : status;
    }
    case Fault::Kind::hang_before: sleep_until(std::min(end, until)); return lost_on_the_way();
    case Fault::Kind::hang_after: {
      Status status = connection_->apply(requests, replies, until);
      sleep_until(std::min(end, until));
      return end < until ? std::move(status) : lost_on_the_way();
    }
    case Fault::Kind::deaf: sleep_until(end); return lost_on_the_way();
  }
  return lost_on_the_way();
}

}  // namespace holdfast
