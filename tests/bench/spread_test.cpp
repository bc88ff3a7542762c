// SPDX-License-Identifier: Apache-2.0
#include "bench/spread.h"

#include <gtest/gtest.h>

#include "bench/report.h"

namespace holdfast::bench {
namespace {

TEST(Spread, is_the_median_the_quartiles_and_the_ends) {
  const Spread s = spread_of({5, 1, 4, 2, 3});
  EXPECT_EQ(s.median, 3);
  EXPECT_EQ(s.low, 2);
  EXPECT_EQ(s.high, 4);
  EXPECT_EQ(s.least, 1);
  EXPECT_EQ(s.most, 5);
}

TEST(Spread, lies_between_two_neighbours_where_no_value_is_in_the_middle) {
  EXPECT_EQ(spread_of({1, 3}).median, 2);
  EXPECT_EQ(spread_of({1, 3}).low, 1.5);
}

TEST(Spread, of_one_value_is_that_value) {
  const Spread s = spread_of({7});
  EXPECT_EQ(s.least, 7);
  EXPECT_EQ(s.median, 7);
  EXPECT_EQ(s.most, 7);
}

TEST(Figure, takes_its_ratio_round_by_round) {
  // The machine was three times as slow in the second round, for both: the ratio does not notice.
  const Figure f = compare({"ours", {30, 10, 30}}, {"theirs", {60, 20, 60}}, "pairs/s", Better::more);
  EXPECT_EQ(f.ratio.median, 0.5);
  EXPECT_EQ(f.ratio.least, 0.5);
  EXPECT_EQ(f.ratio.most, 0.5);
}

TEST(Figure, costs_the_inverse_of_a_rate) {
  const Figure rate = compare({"ours", {1, 2, 4}}, {"theirs", {1, 1, 1}}, "pairs/s", Better::more);
  EXPECT_EQ(rate.cost().median, 0.5);
  EXPECT_EQ(rate.cost().least, 0.25);
  EXPECT_EQ(rate.cost().most, 1);
  const Figure time = compare({"ours", {1, 2, 4}}, {"theirs", {1, 1, 1}}, "us", Better::less);
  EXPECT_EQ(time.cost().median, 2);
}

}  // namespace
}  // namespace holdfast::bench
