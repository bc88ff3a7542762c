// SPDX-License-Identifier: Apache-2.0
// The threads of a simulated process wait for each other as real ones do.
#include "sim/threads.h"

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>

#include "base/sync.h"
#include "base/wakeup.h"
#include "base/worker.h"

namespace holdfast::sim {
namespace {

using namespace std::chrono_literals;

class SimulatedThreads : public testing::Test {
 protected:
  void start(std::function<void()> work) { threads_.start({Timeline::world, &clock_}, std::move(work)); }
  void run_to(True end) {
    while (timeline_.step(end)) {
    }
  }

  Timeline timeline_;
  const DriftingClock clock_{0s, 0};
  Threads threads_{timeline_, [] { return std::uint64_t{7}; }, [] { return Moment(); }};
  std::string order_;
};

TEST_F(SimulatedThreads, sleep_until_their_time_or_a_ring_and_a_ring_before_it_is_not_lost) {
  Wakeup wakeup;
  start([&] {
    EXPECT_EQ(wakeup.wait(Instant(1s)), Wakeup::Why::moment);
    order_ += 'a';
    EXPECT_EQ(wakeup.wait(Instant::max()), Wakeup::Why::ready);
    order_ += 'b';
    wakeup.ring();
    EXPECT_EQ(wakeup.wait(Instant::max()), Wakeup::Why::ready);
    order_ += 'c';
  });
  run_to(5s);
  EXPECT_EQ(order_, "a");
  wakeup.ring();
  run_to(5s);
  EXPECT_EQ(order_, "abc");
  EXPECT_FALSE(threads_.any_alive());
}

TEST_F(SimulatedThreads, wait_for_a_mutex_whose_owner_sleeps) {
  Mutex mutex;
  for (const char name : {'a', 'b'})
    start([&, name] {
      Wakeup pause;
      const std::lock_guard lock(mutex);
      order_ += name;
      pause.wait(clamped_add(BootClock::now(), 1s));
      order_ += name;
    });
  run_to(5s);
  EXPECT_EQ(order_, "aabb");
}

TEST_F(SimulatedThreads, wait_for_a_condition_until_it_holds_or_their_time_is_over) {
  Mutex mutex;
  Condition changed;
  bool ready = false;
  start([&] {
    std::unique_lock lock(mutex);
    EXPECT_FALSE(changed.wait_for(lock, 1s, [&] { return ready; }));
    order_ += 'a';
    changed.wait(lock, [&] { return ready; });
    order_ += 'b';
  });
  run_to(2s);
  EXPECT_EQ(order_, "a");
  start([&] {
    const std::lock_guard lock(mutex);
    changed.notify_all();  // too early: it waits on
  });
  run_to(3s);
  EXPECT_EQ(order_, "a");
  start([&] {
    const std::lock_guard lock(mutex);
    ready = true;
    changed.notify_one();
  });
  run_to(4s);
  EXPECT_EQ(order_, "ab");
}

TEST_F(SimulatedThreads, wait_for_workers_but_not_longer_than_they_want) {
  start([&] {
    Worker brief([&] { order_ += 'a'; });
    brief.finish(1s);
    order_ += 'b';
    Wakeup wakeup;
    Worker endless([&] {
      wakeup.wait(Instant::max());
      order_ += 'd';
    });
    endless.finish(1s);
    EXPECT_EQ(BootClock::now(), Instant(1s));
    order_ += 'c';
    wakeup.ring();
    Wakeup().wait(Instant(2s));
  });
  run_to(5s);
  EXPECT_EQ(order_, "abcd");
}

TEST_F(SimulatedThreads, handle_their_own_exceptions) {
  for (const char name : {'a', 'b'})
    start([&, name] {
      try {
        throw std::runtime_error(std::string(1, name));
      } catch (...) {
        Wakeup().wait(clamped_add(BootClock::now(), 1s));  // the other one throws and catches meanwhile
        try {
          throw;
        } catch (const std::exception& error) {
          order_ += error.what();
        }
      }
    });
  run_to(5s);
  EXPECT_EQ(order_, "ab");
}

}  // namespace
}  // namespace holdfast::sim
