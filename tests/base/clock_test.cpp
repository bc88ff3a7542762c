// SPDX-License-Identifier: Apache-2.0
#include "holdfast/clock.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <optional>
#include <string>

#include "base/host.h"
#include "base/wall_clock.h"
#include "holdfast/options.h"

namespace holdfast {
namespace {

using namespace std::chrono_literals;

constexpr Instant early{1s};
static_assert(clamped_add(early, 5ms) == early + 5ms);
static_assert(clamped_add(early, Millis::zero()) == early);
static_assert(clamped_add(early, -5ms) == early - 5ms);
static_assert(clamped_add(early, never) == Instant::max());
static_assert(clamped_add(early, Millis(never) - 1ms) == Instant::max());
static_assert(clamped_add(Instant::max(), 1ms) == Instant::max());
static_assert(clamped_add(Instant::max(), 0ms) == Instant::max());
static_assert(clamped_add(Instant{} - 1h, 1h) == Instant{});
static_assert(std::is_constructible_v<Ttl, Never> && !std::is_constructible_v<Ttl, Forever>);
static_assert(std::is_constructible_v<Wait, Forever> && !std::is_constructible_v<Wait, Never>);

// Nor does a duration in the place of a moment, or a moment of one clock in the place of the other's.
static_assert(!std::is_convertible_v<Micros, Moment> && !std::is_convertible_v<Moment, Micros>);
static_assert(!std::is_convertible_v<Micros, std::optional<Moment>>);
static_assert(!std::is_constructible_v<Moment, Instant> && !std::is_constructible_v<Instant, Moment>);

TEST(Clock, the_boot_clock_never_goes_back) {
  Instant last = BootClock::now();
  EXPECT_GT(last, Instant{});
  for (int i = 0; i < 1000; ++i) {
    const Instant now = BootClock::now();
    EXPECT_GE(now, last);
    last = now;
  }
}

TEST(Clock, the_time_on_the_wall_is_written_in_utc) {
  EXPECT_EQ(format_wall(Moment{}), "1970-01-01 00:00:00Z");
  EXPECT_EQ(format_wall(Moment(1'763'179'929'999'999us)), "2025-11-15 04:12:09Z");
  EXPECT_EQ(format_wall(Moment(-1us)), "1969-12-31 23:59:59Z");
  EXPECT_GT(wall_now(), Moment(1'700'000'000s));
}

TEST(Host, a_holder_name_says_who_as_the_ruby_locker_did) {
  const std::string guid(32, 'a');
  const std::string name = owner_name(guid);
  EXPECT_TRUE(name.starts_with("host:")) << name;
  EXPECT_TRUE(name.ends_with(" pid:" + std::to_string(getpid()) + " guid:" + guid)) << name;
}

}  // namespace
}  // namespace holdfast
