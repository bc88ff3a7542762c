// SPDX-License-Identifier: Apache-2.0
// wakeup.h - sleep until a moment of the boot clock, or until called.
#pragma once
#include "base/fd.h"
#include "holdfast/clock.h"

namespace holdfast {

// A timer on CLOCK_BOOTTIME and a way to wake it, in one poll.  A condition variable would oversleep by the
// length of a suspend, and a lease does not wait for that.
//
// ring() may be called by any thread, also before the wait; one thread waits.
class Wakeup {
 public:
  enum class Why { moment, ready, extra };

  Wakeup();  // throws std::system_error when the process is out of descriptors

  void ring() noexcept;

  // Sleeps until `at`, a ring, or `extra_fd` is readable.  Rings that came before count, all as one.
  Why wait(Instant at, int extra_fd = -1);

 private:
  Fd timer_;
  Fd event_;
};

}  // namespace holdfast
