// SPDX-License-Identifier: Apache-2.0
// together.h - threads that begin at the same moment.
#pragma once
#include <atomic>
#include <barrier>
#include <thread>
#include <vector>

#include "holdfast/clock.h"

namespace holdfast::bench {

// Each calls `work(i)` for about that long; what all have done, per second.
template <class Work>
double rate_of_threads(int threads, double seconds, Work work) {
  Instant end{};
  const auto length = std::chrono::duration_cast<BootClock::duration>(std::chrono::duration<double>(seconds));
  std::barrier start(threads, [&]() noexcept { end = BootClock::now() + length; });
  std::atomic<long> sum = 0;
  std::vector<std::jthread> running;
  for (int i = 0; i < threads; ++i) {
    running.emplace_back([&, i] {
      long count = 0;
      start.arrive_and_wait();
      for (; BootClock::now() < end; ++count) work(i);
      sum += count;
    });
  }
  running.clear();
  return static_cast<double>(sum) / seconds;
}

}  // namespace holdfast::bench
