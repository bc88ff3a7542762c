// SPDX-License-Identifier: Apache-2.0
#include "base/json_depth.h"

#include <gtest/gtest.h>

namespace holdfast {
namespace {

TEST(JsonDepth, lists_and_objects_count_and_what_stands_in_quotes_does_not) {
  const struct {
    const char* text;
    int depth;
  } table[] = {
      {"", 0},
      {"1", 0},
      {"[]", 1},
      {"[1,2],[3]", 1},
      {R"([{"a":[1]},{}])", 3},
      {R"(["[[[[", "]]{"])", 1},
      {R"(["\"[[", [1]])", 2},
      {R"(["\\", [[1]]])", 3},
      {"[[[", 3},
      {R"(["[[[)", 1},
  };
  for (const auto& [text, depth] : table) EXPECT_EQ(json_depth(text), depth) << text;
}

}  // namespace
}  // namespace holdfast
