// SPDX-License-Identifier: Apache-2.0
// await.h - tests wait for a condition, never for a length of time and hope.
#pragma once
#include "base/fd.h"
#include "base/wakeup.h"
#include "holdfast/clock.h"

namespace holdfast::test {

// True as soon as `condition` is; false if it is not within `limit`, which is far longer than it can take.
template <class Condition>
bool await(Condition condition, Millis limit = std::chrono::seconds(20)) {
  const Instant end = BootClock::now() + limit;
  Wakeup pause;
  while (!condition()) {
    if (BootClock::now() >= end) return false;
    pause.wait(BootClock::now() + Millis(1));
  }
  return true;
}

// Lets so much time pass on the boot clock: for the clock itself to move on, not for others to do something.
inline void let_pass(Millis length) { Wakeup().wait(BootClock::now() + length); }

// The deadline of a call that needs far less time, on a machine of any speed.
inline Instant soon() { return BootClock::now() + std::chrono::seconds(20); }

}  // namespace holdfast::test
