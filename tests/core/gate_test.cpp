// SPDX-License-Identifier: Apache-2.0
#include "core/gate.h"

#include <gtest/gtest.h>

namespace holdfast::core {
namespace {

Gate<int> gate_of(std::initializer_list<int> waiters) {
  Gate<int> gate;
  for (const int w : waiters) gate.enter(w);
  return gate;
}

TEST(Gate, only_the_first_may_talk_to_the_store) {
  Gate<int> gate;
  EXPECT_TRUE(gate.enter(1));
  EXPECT_FALSE(gate.enter(2));
  EXPECT_FALSE(gate.enter(3));
  EXPECT_TRUE(gate.first(1));
  EXPECT_FALSE(gate.first(2));
  EXPECT_EQ(gate.front(), 1);
  EXPECT_EQ(gate.size(), 3u);
}

TEST(Gate, waiters_become_first_in_the_order_they_came) {
  Gate<int> gate = gate_of({1, 2, 3});
  EXPECT_EQ(gate.leave(1), 2);
  EXPECT_EQ(gate.leave(2), 3);
  EXPECT_EQ(gate.leave(3), std::nullopt);
  EXPECT_TRUE(gate.empty());
}

TEST(Gate, whoever_leaves_from_the_middle_makes_nobody_first) {
  Gate<int> gate = gate_of({1, 2, 3});
  EXPECT_EQ(gate.leave(2), std::nullopt);
  EXPECT_TRUE(gate.first(1));
  EXPECT_EQ(gate.leave(1), 3);
}

TEST(Gate, whoever_leaves_from_the_end_makes_nobody_first) {
  Gate<int> gate = gate_of({1, 2});
  EXPECT_EQ(gate.leave(2), std::nullopt);
  EXPECT_TRUE(gate.first(1));
  EXPECT_EQ(gate.size(), 1u);
}

TEST(Gate, whoever_comes_back_stands_at_the_end) {
  Gate<int> gate = gate_of({1, 2});
  gate.leave(1);
  EXPECT_FALSE(gate.enter(1));
  EXPECT_EQ(gate.leave(2), 1);
}

TEST(Gate, leaving_without_having_entered_changes_nothing) {
  Gate<int> gate = gate_of({1});
  EXPECT_EQ(gate.leave(7), std::nullopt);
  EXPECT_TRUE(gate.first(1));
}

TEST(Gate, an_empty_gate_has_no_first) {
  Gate<int> gate;
  EXPECT_TRUE(gate.empty());
  EXPECT_EQ(gate.front(), std::nullopt);
  EXPECT_FALSE(gate.first(1));
  EXPECT_EQ(gate.leave(1), std::nullopt);
}

}  // namespace
}  // namespace holdfast::core
