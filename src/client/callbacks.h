// SPDX-License-Identifier: Apache-2.0
// callbacks.h - the thread on which the user's functions run.
#pragma once
#include <deque>
#include <functional>
#include <memory>

#include "base/sync.h"
#include "base/worker.h"

namespace holdfast {

// Runs functions in order on a thread of its own, without holding a lock: a function may do anything, also
// destroy the lease or the client that it belongs to.
class Callbacks {
 public:
  Callbacks() : queue_(std::make_shared<Queue>()) {}
  ~Callbacks() { close(); }

  // Starts the thread, if it does not run yet.  Throws NoThread.
  void get_ready();
  // REQUIRES: get_ready() has returned.
  void run(std::function<void()> function);
  // Accepts no more functions.  Waits until those that were given have run, but no longer than a second.
  void close();

 private:
  struct Queue {
    Mutex mutex;
    Condition changed;
    std::deque<std::function<void()>> functions;
    bool closed = false;
  };
  static void work(Queue& queue);

  const std::shared_ptr<Queue> queue_;  // shared with the thread, which may outlive this object
  Worker worker_;                       // guarded by queue_->mutex until that is closed
};

}  // namespace holdfast
