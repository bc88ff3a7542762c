// SPDX-License-Identifier: Apache-2.0
// poll_loop.h - one look after the other, until nobody wants to know.
#pragma once
#include <functional>
#include <optional>

#include "base/fd.h"
#include "cli/run/any_of.h"
#include "cli/see/store_poller.h"

namespace holdfast::cli {

// INT and TERM end the process as they do by themselves: nothing is left behind that would need care.
class PollLoop {
 public:
  // From here on a closed pipe is an answer of write(), not a signal.
  PollLoop(StorePoller& poller, Millis interval);

  // Looks, tells, waits, and begins again until `tell` has had enough; returns the exit code.  A store that
  // goes away is complained about once, and once more when it is back; one that was never there ends it.
  int go(const std::function<Status(Look)>& tell);

 private:
  std::optional<Look> look(bool first, int& code);
  // False when nobody reads stdout any more.
  bool pause();

  StorePoller& poller_;
  const Millis interval_;
  bool away_ = false;
  Wakeup wakeup_;
  AnyOf closed_;
};

}  // namespace holdfast::cli
