// SPDX-License-Identifier: Apache-2.0
// context.h - one job while it runs.
#pragma once
#include <atomic>
#include <functional>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>

#include "holdfast/job.h"
#include "holdfast/lease.h"

namespace holdfast {

struct JobContext::State {
  State(JobRow row, Args values) : job(std::move(row)), args(std::move(values)) {}

  const JobRow job;
  const Args args;
  Millis timeout{};          // of a lock that is not renewed; zero: it is
  bool claimed = false;      // there is a claim; else it runs here and now
  Lease claim = {};          // see ClientAccess
  Lease lock = {};           // empty: it needs none
  std::string blocker = {};  // who has it instead
  std::stop_source source = {};
  std::atomic<bool> draining = false;  // the worker wants to end
  std::atomic<bool> ending = false;    // the store is being told of its end: it may be claimed no more
  std::mutex refreshing = {};          // the job itself and Jobs::refresh_lock(): one at a time

  bool locked() const noexcept { return !lock.key().empty(); }
  bool held() const noexcept { return (!claimed || claim.held()) && (!locked() || lock.held()); }

  // From now on stop is requested when the claim or the lock is lost.
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

// While it lives, a job with that lock runs on this thread.
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
