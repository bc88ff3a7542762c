// SPDX-License-Identifier: Apache-2.0
// context.h - one job while it runs.
#pragma once
#include <atomic>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>

#include "base/sync.h"
#include "holdfast/job.h"
#include "holdfast/lease.h"

namespace holdfast {

struct JobContext::State {
  State(JobRow row, Args values) : job(std::move(row)), args(std::move(values)) {}

  const JobRow job;
  const Args args;
  Millis timeout{};          // of a lock that is not renewed; zero: the lock is renewed
  bool claimed = false;      // a worker has claimed it; false: perform_now() runs it
  Lease claim = {};          // see ClientAccess
  Lease lock = {};           // empty: it needs no lock
  std::string blocker = {};  // the owner of the lock, if another owner holds it
  std::stop_source source = {};
  std::atomic<bool> draining = false;  // the worker is shutting down
  Mutex refreshing = {};               // the job itself and Jobs::refresh_lock() may both refresh the lock

  bool locked() const noexcept { return !lock.key().empty(); }
  bool held() const noexcept { return (!claimed || claim.held()) && (!locked() || lock.held()); }

  // Requests the stop of the job when the claim or the lock is lost.
  void listen();
  void stop() { source.request_stop(); }

 private:
  struct Request {
    std::stop_source* source;
    void operator()() const { source->request_stop(); }
  };
  std::optional<std::stop_callback<Request>> on_claim_, on_lock_;
};

namespace jobs {

// While this object exists, a job with that lock runs on this thread.
class RunsHere {
 public:
  explicit RunsHere(std::string_view lock_key) noexcept : key_(lock_key), outer_(innermost) {
    innermost = this;
  }
  RunsHere(const RunsHere&) = delete;
  RunsHere& operator=(const RunsHere&) = delete;
  ~RunsHere() { innermost = outer_; }
  static bool has(std::string_view lock_key) noexcept {
    const RunsHere* here = innermost;
    while (here != nullptr && here->key_ != lock_key) here = here->outer_;
    return here != nullptr;
  }

 private:
  static inline thread_local const RunsHere* innermost = nullptr;
  const std::string_view key_;
  const RunsHere* const outer_;
};

}  // namespace jobs

}  // namespace holdfast
