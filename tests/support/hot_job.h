// SPDX-License-Identifier: Apache-2.0
// hot_job.h - a job that runs while many clients enqueue its key all the time.
#pragma once
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "holdfast/job_worker.h"
#include "tests/support/await.h"

namespace holdfast::test {

// Each duplicate locks the row of the running job for a moment, so one of them has it locked nearly always.
inline void expect_the_claim_of_a_hot_job_is_kept(const std::function<std::shared_ptr<Store>()>& open) {
  using namespace std::chrono_literals;
  std::mutex mutex;
  std::vector<std::string> warnings;
  std::vector<JobEvent> events;
  holdfast::Jobs jobs{Client(open(), {.log = [&](const LogRecord& record) {
                               const std::lock_guard lock(mutex);
                               if (record.level == LogLevel::warning) warnings.emplace_back(record.text);
                             }})};
  const JobOptions loner{.lock = JobLock{.loner = true}};
  std::atomic<bool> started = false, kept = false, over = false;
  jobs.define("Hot", loner, [&](JobContext& context, const Args&) {
    if (started.exchange(true)) return;
    const Instant end = BootClock::now() + 7s;
    await([&] { return !context.held() || context.stop_requested() || BootClock::now() >= end; });
    kept = context.held() && !context.stop_requested();
    over = true;
  });
  jobs.enqueue("Hot");
  std::atomic<int> duplicates = 0;
  {
    JobWorker worker(jobs, {.threads = 1, .claim = 3s, .poll = 10ms, .on_event = [&](const JobEvent& event) {
                              const std::lock_guard lock(mutex);
                              events.push_back(event);
                            }});
    ASSERT_TRUE(await([&] { return started.load(); }));
    std::vector<std::jthread> threads;
    for (int i = 0; i < 8; ++i) {
      threads.emplace_back([&] {
        const holdfast::Jobs mine{Client(open())};
        while (!over) duplicates += mine.try_enqueue("Hot", {}, loner) ? 1 : 0;
      });
    }
  }
  EXPECT_TRUE(kept);
  EXPECT_GT(duplicates, 100);
  for (const JobEvent& event : events) EXPECT_NE(event.what, JobEvent::What::lost) << event.detail;
  EXPECT_TRUE(warnings.empty()) << warnings.front();
}

}  // namespace holdfast::test
