// SPDX-License-Identifier: Apache-2.0
#include "core/key_batches.h"

#include <gtest/gtest.h>

namespace holdfast::core {
namespace {

std::vector<KeyBatch> key_batches_of(std::initializer_list<std::string_view> keys) {
  std::vector<Request> requests;
  for (const auto key : keys) requests.push_back({.verb = Verb::acquire, .key = {key}, .owner = {"h"}});
  return key_batches(requests);
}

TEST(KeyBatches, keys_that_differ_go_in_one_in_bytewise_order) {
  EXPECT_EQ(key_batches_of({}), std::vector<KeyBatch>{});
  EXPECT_EQ(key_batches_of({"b", "a", "c"}), (std::vector<KeyBatch>{{1, 0, 2}}));
  EXPECT_EQ(key_batches_of({"\xc3\xa4", "z", "Z", "z "}), (std::vector<KeyBatch>{{2, 1, 3, 0}}));
}

TEST(KeyBatches, a_key_that_comes_again_goes_in_a_later_one_in_the_order_given) {
  EXPECT_EQ(key_batches_of({"b", "a", "b", "b", "a"}), (std::vector<KeyBatch>{{1, 0}, {4, 2}, {3}}));
}

}  // namespace
}  // namespace holdfast::core
