// SPDX-License-Identifier: Apache-2.0
#include "bench/axis.h"

#include <gmock/gmock.h>

#include <cmath>

namespace holdfast::bench {
namespace {

using testing::DoubleEq;
using testing::ElementsAre;

TEST(Axis, a_linear_one_begins_at_zero_and_ends_behind_all_values) {
  const Axis axis = axis_around({12, 37}, false);
  EXPECT_EQ(axis.from, 0);
  EXPECT_EQ(axis.to, 40);
  EXPECT_THAT(axis.ticks(), ElementsAre(0, 10, 20, 30, 40));
}

TEST(Axis, a_logarithmic_one_has_round_ends) {
  const Axis axis = axis_around({0.3, 42}, true);
  EXPECT_DOUBLE_EQ(axis.from, 0.2);
  EXPECT_DOUBLE_EQ(axis.to, 50);
  EXPECT_THAT(axis.ticks(), ElementsAre(DoubleEq(0.2), DoubleEq(0.5), DoubleEq(1), DoubleEq(2), DoubleEq(5),
                                        DoubleEq(10), DoubleEq(20), DoubleEq(50)));
}

TEST(Axis, many_decades_get_powers_of_ten_only) {
  const Axis axis = axis_around({0.001, 1000}, true);
  EXPECT_EQ(axis.ticks().size(), 7u);
}

TEST(Axis, one_value_is_enough) {
  EXPECT_GT(axis_around({5}, true).to, 5);
  EXPECT_GE(axis_around({5}, false).to, 5);
  EXPECT_GT(axis_around({0}, false).to, 0);
}

TEST(Axis, one_value_near_a_round_number_has_ends_that_differ) {
  for (int e = -9; e <= 9; ++e) {
    for (const double factor : {0.9999999999, 1.0, 1.0000000001, 2.0, 5.0, 9.99}) {
      const double value = factor * std::pow(10, e);
      const Axis axis = axis_around({value}, true);
      EXPECT_LT(axis.from * 1.5, axis.to) << value;
      EXPECT_LE(axis.from, value * (1 + 1e-6));
      EXPECT_GE(axis.to, value * (1 - 1e-6));
    }
  }
}

TEST(Axis, places_values_between_its_ends) {
  const Axis linear{.from = 0, .to = 10, .start = 100, .end = 200};
  EXPECT_EQ(linear.at(0), 100);
  EXPECT_EQ(linear.at(5), 150);
  const Axis log{.from = 1, .to = 100, .start = 0, .end = 2, .log = true};
  EXPECT_DOUBLE_EQ(log.at(10), 1);
}

TEST(Axis, numbers_are_short) {
  EXPECT_EQ(short_number(0), "0");
  EXPECT_EQ(short_number(0.0213), "0.021");
  EXPECT_EQ(short_number(1.234), "1.23");
  EXPECT_EQ(short_number(64), "64");
  EXPECT_EQ(short_number(1234), "1234");
  EXPECT_EQ(short_number(12345), "12.3k");
  EXPECT_EQ(short_number(123456), "123k");
  EXPECT_EQ(short_number(2.5e6), "2.50M");
}

}  // namespace
}  // namespace holdfast::bench
