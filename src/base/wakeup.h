// SPDX-License-Identifier: Apache-2.0
// wakeup.h - how one thread of the library sleeps, and how others wake it.
#pragma once
#include "base/fd.h"
#include "holdfast/clock.h"

namespace holdfast {

// Sleeps until a moment of the boot clock, or until another thread rings.  It is a timer on CLOCK_BOOTTIME
// and an event in one poll().  A condition variable would oversleep by the length of a suspend, and a lease
// expires during a suspend.
//
// Any thread may call ring(), also before the wait.  Only one thread waits.
class Wakeup {
 public:
  enum class Why { moment, ready, extra };

  Wakeup();  // throws std::system_error when the process is out of descriptors

  void ring() noexcept;

  // Sleeps until `at`, a ring, or until `extra_fd` is readable.  Rings from before the wait end it at once;
  // several rings count as one.
  Why wait(Instant at, int extra_fd = -1);

 private:
  Fd timer_;
  Fd event_;
};

}  // namespace holdfast
