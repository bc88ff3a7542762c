// SPDX-License-Identifier: Apache-2.0
// sync.h - src/base/sync.h for simulated threads.
#pragma once
#include <algorithm>
#include <deque>
#include <memory>
#include <mutex>
#include <stop_token>
#include <utility>

#include "holdfast/clock.h"

namespace holdfast {

namespace sim {
class Thread;
}

// Only one simulated thread runs at a time, so a lock is busy only while its owner waits for something else.
class Mutex {
 public:
  Mutex() = default;
  Mutex(const Mutex&) = delete;
  Mutex& operator=(const Mutex&) = delete;

  void lock();
  bool try_lock();
  void unlock();

 private:
  bool locked_ = false;
  std::deque<std::shared_ptr<sim::Thread>> waiting_;
};

class Condition {
 public:
  Condition() = default;
  Condition(const Condition&) = delete;
  Condition& operator=(const Condition&) = delete;

  void notify_one();
  void notify_all();

  template <class Ready>
  void wait(std::unique_lock<Mutex>& lock, Ready ready) {
    while (!ready()) wait(lock, Instant::max());
  }
  template <class Ready>
  bool wait_until(std::unique_lock<Mutex>& lock, Instant until, Ready ready) {
    while (!ready()) {
      if (BootClock::now() >= until) return false;
      wait(lock, until);
    }
    return true;
  }
  template <class Ready>
  bool wait_for(std::unique_lock<Mutex>& lock, Millis length, Ready ready) {
    return wait_until(lock, clamped_add(BootClock::now(), length), std::move(ready));
  }

 protected:
  void wait(std::unique_lock<Mutex>& lock, Instant until);

 private:
  std::deque<std::shared_ptr<sim::Thread>> waiting_;
};

// A std::stop_token ends a wait, too.
class StoppableCondition : public Condition {
 public:
  using Condition::wait;
  template <class Ready>
  bool wait(std::unique_lock<Mutex>& lock, std::stop_token stop, Ready ready) {
    const std::stop_callback wake(stop, [this] { notify_all(); });
    wait(lock, [&] { return stop.stop_requested() || ready(); });
    return ready();
  }
};

void let_others_run() noexcept;

}  // namespace holdfast
