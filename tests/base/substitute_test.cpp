// SPDX-License-Identifier: Apache-2.0
#include "base/substitute.h"

#include <gtest/gtest.h>

namespace holdfast {
namespace {

TEST(FillIn, replaces_every_word_and_nothing_else) {
  const auto shout = [](std::string_view word) { return "<" + std::string(word) + ">"; };
  EXPECT_EQ(substitute("", shout), "");
  EXPECT_EQ(substitute("no words", shout), "no words");
  EXPECT_EQ(substitute("{a} and {b}{a}.", shout), "<a> and <b><a>.");
}

TEST(FillIn, does_not_look_into_what_was_filled_in) {
  EXPECT_EQ(substitute("{a}", [](std::string_view) { return "{a}"; }), "{a}");
}

}  // namespace
}  // namespace holdfast
