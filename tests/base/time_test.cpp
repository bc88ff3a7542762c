// SPDX-License-Identifier: Apache-2.0
#include "base/time.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <sstream>

#include "base/random.h"
#include "holdfast/clock.h"
#include "holdfast/job_worker.h"
#include "holdfast/options.h"

namespace holdfast {
namespace {

using namespace std::chrono_literals;

constexpr Instant early{1s};
static_assert(clamped_add(early, 5ms) == early + 5ms);
static_assert(clamped_add(early, Millis::zero()) == early);
static_assert(clamped_add(early, -5ms) == early - 5ms);
static_assert(clamped_add(early, Millis(never)) == Instant::max());
static_assert(clamped_add(early, Millis(never) - 1ms) == Instant::max());
static_assert(clamped_add(Instant::max(), 1ms) == Instant::max());
static_assert(clamped_add(Instant::max(), 0ms) == Instant::max());
static_assert(clamped_add(Instant{} - 1h, 1h) == Instant{});
static_assert(std::is_constructible_v<Ttl, Never> && !std::is_constructible_v<Ttl, Forever>);
static_assert(std::is_constructible_v<Wait, Forever> && !std::is_constructible_v<Wait, Never>);

// Neither is a duration, so a field that needs an end takes none of them, and a field without end only its
// own word.
template <class Word>
inline constexpr bool is_a_duration =
    std::is_convertible_v<Word, Millis> || std::is_assignable_v<Millis&, Word> ||
    std::is_convertible_v<Word, std::optional<Millis>> || std::is_assignable_v<std::optional<Millis>&, Word>;
static_assert(is_a_duration<Millis> && !is_a_duration<Never> && !is_a_duration<Forever>);
template <class Word>
concept connects_within = requires {
  ClientOptions{.connect_wait = Word{}};
};
static_assert(connects_within<Millis> && !connects_within<Never> && !connects_within<Forever>);
template <class Word>
concept purges_every = requires {
  ClientOptions{.purge_every = Word{}};
  WorkerOptions{.purge_every = Word{}};
  Purge{.free_for = Word{}, .log_older_than = Word{}};
};
static_assert(purges_every<Millis> && purges_every<Never> && !purges_every<Forever>);
template <class Word>
concept limits_a_lock = requires {
  JobLock{.timeout = Word{}};
};
static_assert(limits_a_lock<Millis> && !limits_a_lock<Never> && !limits_a_lock<Forever>);

// What a client reports of a lease without end is still known as such, is longer than a hundred years, and
// ends before every clock does.
static_assert(Millis(never) == never && endless_remaining == never && endless_remaining - 1ms != never);
static_assert(endless_remaining > 24h * 36525 && endless_remaining < (Instant::max() - Instant{}) / 2);

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

TEST(Duration, is_a_number_and_a_unit) {
  const struct {
    std::string_view text;
    Millis is;
  } table[] = {
      {"250ms", 250ms}, {"30s", 30s},   {"5m", 5min},    {"1.5h", 90min},     {"2d", 48h},
      {"0s", 0ms},      {"0ms", 0ms},   {"0.5s", 500ms}, {"1ms", 1ms},        {"1.0004s", 1000ms},
      {"0.6ms", 1ms},   {"0.25m", 15s}, {"007s", 7s},    {"36525d", 876600h}, {"0.000d", 0ms},
  };
  for (const auto& row : table) {
    const auto parsed = parse_duration(row.text);
    ASSERT_TRUE(parsed) << row.text << ": " << parsed.error().detail;
    EXPECT_EQ(parsed->count(), row.is.count()) << row.text;
  }
}

TEST(Duration, is_refused_with_the_input_and_what_is_right) {
  const struct {
    std::string text;
    std::string_view why;
  } table[] = {
      {"", "empty"},
      {"abc", "start with a number"},
      {"ms", "start with a number"},
      {" 5s", "start with a number"},
      {"+5s", "start with a number"},
      {"infs", "start with a number"},
      {"nans", "start with a number"},
      {"10", "no unit: in seconds it would be 10s;"},
      {"1.5", "no unit: in seconds it would be 1.5s;"},
      {"99999999999", "no unit;"},
      {"0.0001", "no unit;"},
      {"-5s", "negative"},
      {"-0s", "negative"},
      {"1e3s", "unit is unknown"},
      {"5 m", "unit is unknown"},
      {"5s ", "unit is unknown"},
      {"10x", "unit is unknown"},
      {"10S", "unit is unknown"},
      {"0x10s", "unit is unknown"},
      {"1h30m", "unit is unknown"},
      {"1,5h", "unit is unknown"},
      {"99999999999999h", "longer than 100 years"},
      {"36526d", "longer than 100 years"},
      {std::string(400, '9') + "s", "longer than 100 years"},
      {"0.1ms", "shorter than a millisecond"},
      {"0.0000001s", "shorter than a millisecond"},
      {"0." + std::string(400, '0') + "1s", "shorter than a millisecond"},
  };
  for (const auto& row : table) {
    const auto parsed = parse_duration(row.text);
    ASSERT_FALSE(parsed) << row.text;
    const Error& error = parsed.error();
    EXPECT_EQ(error.code, Errc::invalid);
    EXPECT_TRUE(error.detail.starts_with("\"" + row.text + "\"")) << error.detail;
    EXPECT_NE(error.detail.find(row.why), std::string::npos) << error.detail;
    EXPECT_NE(error.detail.find("write 250ms, 30s, 5m, 1.5h or 2d"), std::string::npos) << error.detail;
  }
}

TEST(Duration, an_error_shows_no_control_character) {
  const auto parsed = parse_duration(std::string_view("5\x1b[2J\0s", 7));
  ASSERT_FALSE(parsed);
  EXPECT_NE(parsed.error().detail.find("\"5\\x1b[2J\\x00s\""), std::string::npos) << parsed.error().detail;
}

TEST(Duration, is_written_short) {
  const struct {
    Millis is;
    std::string_view text;
  } table[] = {
      {0ms, "0ms"},
      {250ms, "250ms"},
      {999ms, "999ms"},
      {1s, "1s"},
      {1500ms, "1.5s"},
      {29'849ms, "29.8s"},
      {59'999ms, "59.9s"},
      {60s, "1m"},
      {5min, "5m"},
      {61s, "1m 1s"},
      {3'599'999ms, "59m 59s"},
      {1h, "1h"},
      {65min, "1h 5m"},
      {74h, "3d 2h"},
      {24h, "1d"},
      {Millis(never), "never"},
      {24h * 36525, "36525d"},
  };
  for (const auto& row : table) EXPECT_EQ(format_duration(row.is), row.text);
}

// A tenth of a second up to a minute, then the smaller of the two units.
Millis grain(Millis d) {
  return d < 1s ? 1ms : d < 1min ? 100ms : d < 1h ? Millis(1s) : d < 24h ? Millis(1min) : Millis(1h);
}

TEST(Duration, what_is_written_can_be_read_back_to_within_what_was_left_out) {
  constexpr std::uint64_t seed = 20260101;
  Jitter random(seed);
  for (int i = 0; i < 20'000; ++i) {
    const std::uint64_t width = 1 + random.below(41);
    const Millis d(static_cast<Millis::rep>(random.next() >> (64 - width)));
    Millis read{};
    std::istringstream words(format_duration(d));
    for (std::string word; words >> word;) {
      const auto part = parse_duration(word);
      ASSERT_TRUE(part) << "seed " << seed << ": " << word;
      read += *part;
    }
    ASSERT_LE(read.count(), d.count()) << "seed " << seed;
    ASSERT_LT((d - read).count(), grain(d).count()) << "seed " << seed << ": " << format_duration(d);
  }
}

}  // namespace
}  // namespace holdfast
