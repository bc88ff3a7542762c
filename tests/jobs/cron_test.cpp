// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstdlib>
#include <ctime>
#include <optional>

#include "jobs/timetable.h"

namespace holdfast::test {
namespace {

using jobs::Second;
using jobs::Timetable;

Second utc(const char* text) {
  std::tm tm{};
  EXPECT_NE(strptime(text, "%Y-%m-%d %H:%M", &tm), nullptr) << text;
  return Second(timegm(&tm));
}

std::string text_of(Second then) {
  const std::time_t time = then.count();
  std::tm tm{};
  gmtime_r(&time, &tm);
  char text[32];
  return {text, std::strftime(text, sizeof text, "%Y-%m-%d %H:%M", &tm)};
}

std::string next(const char* schedule, const char* after, const char* zone = "UTC") {
  const auto tick = Timetable::make(schedule, zone).value().next(utc(after));
  return tick ? text_of(*tick) : "never";
}

TEST(Cron, fields_are_those_of_a_crontab) {
  EXPECT_EQ(next("0 2 * * *", "2026-11-15 01:59"), "2026-11-15 02:00");
  EXPECT_EQ(next("0 2 * * *", "2026-11-15 02:00"), "2026-11-16 02:00");
  EXPECT_EQ(next("*/15 * * * *", "2026-11-15 02:01"), "2026-11-15 02:15");
  EXPECT_EQ(next("5-10/5,40 8 * * *", "2026-11-15 08:05"), "2026-11-15 08:10");
  EXPECT_EQ(next("5/20 * * * *", "2026-11-15 08:05"), "2026-11-15 08:25");
  EXPECT_EQ(next("0 0 1 jan *", "2026-11-15 08:05"), "2027-01-01 00:00");
  EXPECT_EQ(next("0 0 * * Mon", "2026-11-15 08:05"), "2026-11-16 00:00");
  EXPECT_EQ(next("0 0 * * 7", "2026-11-16 08:05"), "2026-11-22 00:00");
  EXPECT_EQ(next("0 0 29 2 *", "2026-11-16 08:05"), "2028-02-29 00:00");
  EXPECT_EQ(next("@daily", "2026-11-15 08:05"), "2026-11-16 00:00");
  EXPECT_EQ(next("@hourly", "2026-11-15 08:05"), "2026-11-15 09:00");
}

TEST(Cron, a_day_fits_if_the_day_or_the_weekday_does) {
  EXPECT_EQ(next("0 0 20 * Mon", "2026-11-15 08:05"), "2026-11-16 00:00");
  EXPECT_EQ(next("0 0 20 * Mon", "2026-11-16 08:05"), "2026-11-20 00:00");
}

TEST(Cron, a_day_that_never_comes_never_ticks) { EXPECT_EQ(next("0 0 30 2 *", "2026-11-15 08:05"), "never"); }

TEST(Cron, a_zone_has_its_own_hours) {
  EXPECT_EQ(next("0 2 * * *", "2026-11-15 01:59", "Europe/Berlin"), "2026-11-16 01:00");
  EXPECT_EQ(next("0 2 * * *", "2026-07-15 01:59", "Europe/Berlin"), "2026-07-16 00:00");
}

TEST(Cron, an_hour_that_is_left_out_ticks_when_the_clock_is_put_forward) {
  // 2026-03-29: 02:00 becomes 03:00, at 01:00 UTC.
  EXPECT_EQ(next("30 2 * * *", "2026-03-28 12:00", "Europe/Berlin"), "2026-03-29 01:00");
  EXPECT_EQ(next("30 2 * * *", "2026-03-29 01:00", "Europe/Berlin"), "2026-03-30 00:30");
}

TEST(Cron, an_hour_that_comes_twice_ticks_once) {
  // 2026-10-25: 03:00 becomes 02:00, at 01:00 UTC.
  EXPECT_EQ(next("30 2 * * *", "2026-10-24 12:00", "Europe/Berlin"), "2026-10-25 00:30");
  EXPECT_EQ(next("30 2 * * *", "2026-10-25 00:30", "Europe/Berlin"), "2026-10-26 01:30");
}

TEST(Cron, what_ticks_every_hour_ticks_in_both_of_them) {
  EXPECT_EQ(next("*/30 * * * *", "2026-10-25 00:30", "Europe/Berlin"), "2026-10-25 01:00");
  EXPECT_EQ(next("*/30 * * * *", "2026-10-25 01:00", "Europe/Berlin"), "2026-10-25 01:30");
  EXPECT_EQ(next("*/30 * * * *", "2026-10-25 01:30", "Europe/Berlin"), "2026-10-25 02:00");
}

TEST(Cron, what_means_nothing_is_refused_by_name) {
  const auto why = [](const char* schedule, const char* zone = "UTC") {
    const auto made = Timetable::make(schedule, zone);
    return made ? std::string() : made.error().detail;
  };
  EXPECT_EQ(why("0 2 * *"),
            "\"0 2 * *\" is not a schedule: it has 4 fields; write five fields as in a crontab, like \"0 2 * "
            "* *\"");
  EXPECT_NE(why("0 24 * * *").find("\"24\" is not valid for the hour (0 to 23)"), std::string::npos);
  for (const char* bad : {"60 * * * *", "* * 0 * *", "* * * 13 *", "* * * * 8", "a * * * *", "5-1 * * * *",
                          "*/0 * * * *", "1-2-3 * * * *", "1,,2 * * * *", "@never", "-1 * * * *"})
    EXPECT_NE(why(bad), "") << bad;
  EXPECT_EQ(why("@daily", "Mars/Base"),
            "\"Mars/Base\" is not a time zone that this machine knows; write one like Europe/Berlin, or UTC");
}

// The library's zones have gone by then.
TEST(Cron, there_is_no_tick_while_the_process_ends) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto end = [] {
    struct Last {
      std::optional<Timetable> table;
      ~Last() { std::_Exit(table->next(Second(0)) ? 1 : 0); }
    };
    static Last last;  // made before the zones, so destroyed after them
    last.table = Timetable::make("0 2 * * *", "Europe/Berlin").value();
    std::exit(2);
  };
  EXPECT_EXIT(end(), ::testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace holdfast::test
