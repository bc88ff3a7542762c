// SPDX-License-Identifier: Apache-2.0
// What the simulated world is made of: time, pauses, clocks.
#include "sim/timeline.h"

#include <gtest/gtest.h>

#include <string>

namespace holdfast::sim {
namespace {

using namespace std::chrono_literals;

void run_to(Timeline& timeline, True end) {
  while (timeline.step(end)) {
  }
}

TEST(TimelineOrder, is_that_of_time_and_then_of_planning) {
  Timeline timeline;
  std::string order;
  timeline.at(2s, Timeline::world, [&] { order += 'c'; });
  timeline.at(1s, Timeline::world, [&] { order += 'a'; });
  timeline.at(1s, Timeline::world, [&] { order += 'b'; });
  run_to(timeline, 3s);
  EXPECT_EQ(order, "abc");
  EXPECT_EQ(timeline.now(), 3s);
}

TEST(TimelineOwner, does_nothing_while_paused_and_catches_up_in_order) {
  Timeline timeline;
  const auto process = timeline.add_owner();
  std::string order;
  for (int i = 0; i < 3; ++i)
    timeline.at((i + 1) * 1s, process, [&, i] { order += static_cast<char>('a' + i); });
  timeline.pause(process);
  run_to(timeline, 10s);
  EXPECT_EQ(order, "");
  timeline.go_on(process);
  run_to(timeline, 10s);
  EXPECT_EQ(order, "abc");
  EXPECT_EQ(timeline.went_on(process), 10s);
}

TEST(DriftingClocks, show_an_instant_first_when_they_say_so) {
  for (const int ppm : {-4990, -1, 0, 1, 4990}) {
    const DriftingClock clock(77h, ppm);
    for (const True shown : {True(77h + 1ns), True(77h + 1s), True(77h + 59s + 123456789ns)}) {
      const True when = clock.when(Instant(shown));
      EXPECT_GE(clock.at(when), Instant(shown));
      EXPECT_LT(clock.at(when - 1ns), Instant(shown));
    }
  }
}

}  // namespace
}  // namespace holdfast::sim
