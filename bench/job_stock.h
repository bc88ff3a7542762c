// SPDX-License-Identifier: Apache-2.0
// job_stock.h - jobs to be measured with: a queue of one's own, and connections that work it off.
#pragma once
#include <atomic>
#include <memory>
#include <string>

#include "holdfast/spi/job_engine.h"

namespace holdfast::bench {

// One connection for jobs.  Used by one thread.
class JobHand {
 public:
  JobHand(Store& store, std::string queue);

  // A job with a lock of its own, as most have.
  void enqueue();
  // The next one, claimed and finished.  False: there was none.
  bool work();

 private:
  const std::string queue_;
  const std::unique_ptr<JobEngine> engine_;
  const std::string name_;  // at the store, and the number of the last claim
  std::uint64_t claims_ = 0;
};

// Enqueues so many, on several connections at once, for at most so long; how many they were.
std::uint64_t enqueue_many(Store& store, const std::string& queue, std::uint64_t count, Millis patience);

}  // namespace holdfast::bench
