// SPDX-License-Identifier: Apache-2.0
#include "base/random.h"

#include <gtest/gtest.h>

#include <set>

namespace holdfast {
namespace {

TEST(Random, hex_has_the_length_asked_for_and_only_hex_digits) {
  for (std::size_t digits = 0; digits <= 40; ++digits) {
    const std::string text = random_hex(digits);
    EXPECT_EQ(text.size(), digits);
    EXPECT_EQ(text.find_first_not_of("0123456789abcdef"), std::string::npos) << text;
  }
}

TEST(Random, hex_differs_each_time_and_uses_every_digit) {
  std::set<std::string> seen;
  std::set<char> digits;
  for (int i = 0; i < 1000; ++i) {
    const std::string text = random_hex(32);
    EXPECT_TRUE(seen.insert(text).second) << text;
    EXPECT_NE(text.substr(0, 16), text.substr(16));
    digits.insert(text.begin(), text.end());
  }
  EXPECT_EQ(digits.size(), 16u);
}

TEST(Random, a_serial_gives_16_hex_digits_that_differ_each_time) {
  Serial serial;
  std::set<std::string> seen;
  std::set<char> first;
  for (int i = 0; i < 1000; ++i) {
    const std::string text = serial.next();
    EXPECT_EQ(text.size(), 16u);
    EXPECT_EQ(text.find_first_not_of("0123456789abcdef"), std::string::npos) << text;
    EXPECT_TRUE(seen.insert(text).second) << text;
    first.insert(text.front());
  }
  EXPECT_EQ(first.size(), 16u);
}

TEST(Random, two_serials_do_not_begin_alike) { EXPECT_NE(Serial().next(), Serial().next()); }

TEST(Random, jitter_repeats_from_the_same_seed) {
  for (const std::uint64_t seed : {0u, 1u, 42u}) {
    Jitter one(seed), two(seed);
    for (int i = 0; i < 100; ++i) EXPECT_EQ(one.next(), two.next());
  }
}

TEST(Random, jitter_stays_within_its_bounds) {
  Jitter jitter(0);  // a seed of zero must not stop the generator
  std::set<std::uint64_t> seen;
  for (int i = 0; i < 10'000; ++i) {
    const double fraction = jitter.fraction();
    ASSERT_GE(fraction, 0.0);
    ASSERT_LT(fraction, 1.0);
    seen.insert(jitter.below(7));
  }
  EXPECT_EQ(seen, (std::set<std::uint64_t>{0, 1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(jitter.below(0), 0u);
  EXPECT_EQ(jitter.below(1), 0u);
}

}  // namespace
}  // namespace holdfast
