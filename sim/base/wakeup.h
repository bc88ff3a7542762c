// SPDX-License-Identifier: Apache-2.0
// wakeup.h - src/base/wakeup.h for simulated threads.
#pragma once
#include <memory>

#include "holdfast/clock.h"

namespace holdfast {

namespace sim {
class Thread;
}

class Wakeup {
 public:
  enum class Why { moment, ready, extra };

  Wakeup() = default;
  Wakeup(const Wakeup&) = delete;
  Wakeup& operator=(const Wakeup&) = delete;

  void ring() noexcept;
  // `extra_fd` is the number of a sim::Descriptor.
  Why wait(Instant at, int extra_fd = -1);

 private:
  bool rung_ = false;
  std::shared_ptr<sim::Thread> asleep_;
};

}  // namespace holdfast
