// SPDX-License-Identifier: Apache-2.0
// suite.h - helpers for the tests of jobs: one queue, its workers, and their events.
#pragma once
#include <gtest/gtest.h>

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "holdfast/job_worker.h"
#include "tests/support/await.h"
#include "tests/support/databases.h"
#include "tests/support/trail.h"

namespace holdfast::test {

using namespace std::chrono_literals;
using What = JobEvent::What;

inline JobId id_of(const EnqueueResult& result) {
  const auto* enqueued = std::get_if<Enqueued>(&result);
  return enqueued != nullptr ? enqueued->id : no_job;
}
inline JobId duplicate_of(const EnqueueResult& result) {
  const auto* duplicate = std::get_if<Duplicate>(&result);
  return duplicate != nullptr ? duplicate->id : no_job;
}

// The events of workers, in order.
class Events {
 public:
  void operator()(const JobEvent& event) {
    const std::lock_guard lock(mutex_);
    all_.push_back(event);
  }
  std::vector<JobEvent> of(What what) const {
    const std::lock_guard lock(mutex_);
    std::vector<JobEvent> found;
    for (const JobEvent& event : all_) {
      if (event.what == what) found.push_back(event);
    }
    return found;
  }
  std::size_t count(What what) const { return of(what).size(); }
  bool await(What what, std::size_t least = 1, Millis limit = 20s) const {
    return test::await([&] { return count(what) >= least; }, limit);
  }

 private:
  mutable std::mutex mutex_;
  std::vector<JobEvent> all_;
};

class JobsOn : public ::testing::TestWithParam<Kind> {
 protected:
  WorkerOptions quick(int threads = 2) {
    return {.threads = threads, .poll = 10ms, .on_event = [this](const JobEvent& event) { events_(event); }};
  }
  // Where a job that declares nothing has the lock and the one attempt of the ancestor.
  static bool is_beside_active_job_lock() { return GetParam().name == "active_job_lock"; }
  JobRow row(JobId id) {
    const auto rows = jobs_.list({.id = id});
    EXPECT_EQ(rows.size(), 1u) << to_number(id);
    return rows.empty() ? JobRow{} : rows.front();
  }
  JobState state(JobId id) { return row(id).state; }
  bool await_state(JobId id, JobState wanted, Millis limit = 20s) {
    return await([&] { return state(id) == wanted; }, limit);
  }

  const std::unique_ptr<TestDatabase> database_ = GetParam().make();
  Jobs jobs_{Client(database_->new_client())};
  Events events_;
};

}  // namespace holdfast::test
