// SPDX-License-Identifier: Apache-2.0
// callbacks.h - jobs whose callbacks are counted.
#pragma once
#include <atomic>

#include "tests/jobs/suite.h"

namespace holdfast::test {

class JobsAndCallbacks : public JobsOn {
 protected:
  // A job that reports that it runs, and stays until `go_`.
  JobFunction stays() {
    return [this](JobContext&, const Args&) {
      ++inside_;
      await([this] { return go_.load(); });
      ++ran_;
    };
  }
  JobOptions told(JobLock lock) {
    JobOptions options{.lock = JobLock::active_job_lock(lock), .max_attempts = 1};
    options.lock_failed = [this](JobContext&, const Args&) { ++failed_; };
    options.loner_enqueue_failed = [this](const Duplicate&, const Args&) { ++duplicates_; };
    options.lock_expired_before_release = [this](JobContext&, const Args&) { ++expired_; };
    return options;
  }
  bool await_inside(int count = 1) {
    return await([&] { return inside_ >= count; });
  }

  std::atomic<int> inside_ = 0, ran_ = 0, failed_ = 0, duplicates_ = 0, expired_ = 0;
  std::atomic<bool> go_ = false;
};

}  // namespace holdfast::test
