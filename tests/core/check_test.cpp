// SPDX-License-Identifier: Apache-2.0
#include "core/check.h"

#include <gtest/gtest.h>

#include "tests/core/moments.h"

namespace holdfast::core {
namespace {

using namespace std::string_literals;

void expect_invalid(const Status& status, std::initializer_list<std::string_view> words) {
  ASSERT_FALSE(status) << *words.begin();
  EXPECT_EQ(status.error().code, Errc::invalid);
  for (const auto word : words)
    EXPECT_NE(status.error().detail.find(word), std::string::npos) << status.error().detail;
}

TEST(Check, a_name_is_1_to_512_bytes_of_utf8_without_nul) {
  for (const auto& name :
       {"k"s, "nightly backup"s, "gr\xc3\xbc\xc3\x9f"s, std::string(512, 'x'), "a/b:c@d\n"s}) {
    EXPECT_TRUE(check_key(name)) << name;
    EXPECT_TRUE(check_owner(name)) << name;
  }
}

TEST(Check, a_bad_name_is_named_with_what_would_be_right) {
  const struct {
    std::string name;
    std::string_view shown, right;
  } table[] = {
      {"", "empty", "1 to 512 bytes of UTF-8"},
      {std::string(513, 'x'), "513 bytes", "at most 512"},
      {"canary" + std::string(1000, 'x'), "\"canaryxxx", "at most 512"},
      {"a\0b"s, "\"a\\x00b\"", "without NUL"},
      {"a\xff", "\"a\\xff\"", "UTF-8"},
      {"\xc0\x80", "\"\\xc0\\x80\"", "UTF-8"},
      {"\xed\xa0\x80", "\"\\xed\\xa0\\x80\"", "UTF-8"},
  };
  for (const auto& row : table) {
    expect_invalid(check_key(row.name), {"the key", row.shown, row.right});
    expect_invalid(check_owner(row.name), {"the owner", row.shown, row.right});
  }
}

TEST(Check, a_lease_lasts_between_20_milliseconds_and_100_years_or_for_ever) {
  for (const Millis good : {Millis(20ms), Millis(30s), Millis(24h * 36525), Millis(never)})
    EXPECT_TRUE(check_ttl(good)) << ms(good);
  const struct {
    Millis ttl;
    std::string_view shown, right;
  } table[] = {
      {0ms, "0ms", "at least 20ms"},
      {19ms, "19ms", "at least 20ms"},
      {-5s, "-5000ms", "at least 20ms"},
      {Millis::min(), "-9223372036854775808ms", "at least 20ms"},
      {24h * 36525 + 24h, "36526d", "100 years"},
      {Millis(never) - 1ms, "d", "never"},
  };
  for (const auto& row : table) expect_invalid(check_ttl(row.ttl), {"ttl", row.shown, row.right});
}

TEST(Check, a_lease_is_extended_by_a_positive_time_of_at_most_100_years) {
  for (const Millis good : {1ms, Millis(20ms), Millis(24h * 36525)})
    EXPECT_TRUE(check_extension(good)) << ms(good);
  for (const Millis bad : {0ms, -1ms, Millis::min()}) expect_invalid(check_extension(bad), {"above 0"});
  expect_invalid(check_extension(24h * 36525 + 24h), {"100 years"});
}

TEST(Check, good_options_pass) {
  const AcquireOptions table[] = {
      {},
      {.ttl = 20ms},
      {.ttl = Millis(never), .wait = Millis(forever)},
      {.owner = "ann", .note = std::string(4096, 'n')},
      {.wait = 5s, .interval = 1s},
      {.attempts = 3},
      {.attempts = 3, .interval = [](int n) { return Millis(n); }},
      {.ttl = 10s, .renew_every = 9s},
      {.ttl = 10s, .renew_every = 0ms},
      {.ttl = Millis(never), .renew_every = 9s},
      {.max_renewals = 0},
  };
  for (const auto& options : table) {
    const Status status = check_terms(settle(options, {}), {});
    EXPECT_TRUE(status) << status.error().detail;
  }
}

TEST(Check, bad_options_are_named_with_what_would_be_right) {
  const struct {
    AcquireOptions options;
    std::optional<Millis> margin;
    std::string_view shown, right;
  } table[] = {
      {{.ttl = 0ms}, {}, "a ttl of 0ms", "at least 20ms"},
      {{.owner = "a\0b"s}, {}, "the owner \"a\\x00b\"", "without NUL"},
      {{.owner = std::string(513, 'o')}, {}, "the owner", "at most 512"},
      {{.owner = "host:a pid:1 guid:0"}, {}, "\"host:a pid:1 guid:0\"", "give another name"},
      {{.note = "a\xff"}, {}, "the note \"a\\xff\"", "UTF-8"},
      {{.note = "a\0b"s}, {}, "the note \"a\\x00b\"", "without NUL"},
      {{.note = std::string(4097, 'n')}, {}, "the note has 4097 bytes", "at most 4096"},
      {{.wait = -1ms}, {}, "a wait of -1ms", "0 or more"},
      {{.attempts = -2}, {}, "-2 attempts", "1 or more"},
      {{.interval = 1s}, {}, "an interval", "neither a wait nor a limit of attempts"},
      {{.renew_every = -1ms}, {}, "renew_every", "below the ttl"},
      {{.ttl = 10s, .renew_every = 10s}, {}, "renew_every is 10s", "shorter than the ttl of 10s"},
      {{.ttl = 10s, .renew_every = 9900ms}, {}, "renew_every is 9.9s", "minus the margin"},
      {{.ttl = 10s, .renew_every = 9s}, 1s, "renew_every is 9s", "minus the margin"},
      {{.ttl = 10s, .renew_every = 1h}, {}, "renew_every is 1h", "shorter"},
      {{.ttl = 10s}, 5s, "a margin of 5s", "below half the ttl"},
      {{.ttl = 10s}, 1h, "a margin of 1h", "a ttl of 10s"},
      {{.max_renewals = -1}, {}, "max_renewals", "0 or more"},
  };
  for (const auto& row : table)
    expect_invalid(check_terms(settle(row.options, {}), row.margin), {row.shown, row.right});
}

TEST(Check, a_caller_can_check_options_and_texts_before_it_connects) {
  EXPECT_TRUE(check_options({.ttl = 10s, .wait = 5s}));
  expect_invalid(check_options({.ttl = 1ms}), {"a ttl of 1ms"});
  EXPECT_TRUE(check_text("", "the reason"));
  expect_invalid(check_text(std::string(4097, 'r'), "the reason"), {"the reason has 4097 bytes"});
}

TEST(Check, a_margin_of_any_length_is_refused_and_not_computed_with) {
  expect_invalid(check_terms({.ttl = 10s}, Millis::max()), {"a margin of"});
  expect_invalid(check_terms({.ttl = 10s}, Millis::max() / 2 + 1ms), {"a margin of"});
}

}  // namespace
}  // namespace holdfast::core
