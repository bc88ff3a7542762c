// SPDX-License-Identifier: Apache-2.0
// worker.h - src/base/worker.h for simulated threads.
#pragma once
#include <cassert>
#include <functional>
#include <memory>
#include <string>
#include <system_error>
#include <utility>

#include "base/guarded.h"
#include "holdfast/clock.h"

namespace holdfast {

namespace sim {
class Thread;
}

class NoThread final : public std::system_error {
 public:
  using system_error::system_error;
};

class Worker {
 public:
  Worker() = default;
  explicit Worker(std::function<void()> work);
  Worker(Worker&&) = default;
  Worker& operator=(Worker&& other) {
    assert(!started() || ended());  // std::thread would end the process
    thread_ = std::move(other.thread_);
    return *this;
  }
  ~Worker() { finish(Millis::zero()); }

  bool started() const noexcept { return thread_ != nullptr; }
  bool ended() const;
  bool is_this_thread() const noexcept;
  void finish(Millis patience) noexcept;

 private:
  std::shared_ptr<sim::Thread> thread_;
};

}  // namespace holdfast
