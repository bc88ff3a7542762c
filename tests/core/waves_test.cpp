// SPDX-License-Identifier: Apache-2.0
#include "core/waves.h"

#include <gtest/gtest.h>

namespace holdfast::core {
namespace {

std::vector<Wave> waves_of(std::initializer_list<std::string_view> keys) {
  std::vector<Request> requests;
  for (const auto key : keys) requests.push_back({.verb = Verb::acquire, .key = {key}, .holder = {"h"}});
  return waves(requests);
}

TEST(Waves, keys_that_differ_go_in_one_in_bytewise_order) {
  EXPECT_EQ(waves_of({}), std::vector<Wave>{});
  EXPECT_EQ(waves_of({"b", "a", "c"}), (std::vector<Wave>{{1, 0, 2}}));
  EXPECT_EQ(waves_of({"\xc3\xa4", "z", "Z", "z "}), (std::vector<Wave>{{2, 1, 3, 0}}));
}

TEST(Waves, a_key_that_comes_again_goes_in_a_later_one_in_the_order_given) {
  EXPECT_EQ(waves_of({"b", "a", "b", "b", "a"}), (std::vector<Wave>{{1, 0}, {4, 2}, {3}}));
}

}  // namespace
}  // namespace holdfast::core
