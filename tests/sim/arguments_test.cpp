// SPDX-License-Identifier: Apache-2.0
#include "sim/arguments.h"

#include <gtest/gtest.h>

#include <vector>

namespace holdfast::sim {
namespace {

std::string wrong_with(std::vector<const char*> words, Arguments& arguments) {
  words.insert(words.begin(), "holdfast_sim");
  return parse(static_cast<int>(words.size()), words.data(), arguments);
}

std::string wrong_with(std::vector<const char*> words) {
  Arguments arguments;
  return wrong_with(std::move(words), arguments);
}

TEST(Arguments, none_mean_a_thousand_seeds) {
  Arguments arguments;
  EXPECT_EQ(wrong_with({}, arguments), "");
  EXPECT_EQ(arguments.seeds, 1000U);
}

TEST(Arguments, a_number_is_one_seed) {
  Arguments arguments;
  EXPECT_EQ(wrong_with({"42", "--trace", "--mutant", "no_margin"}, arguments), "");
  EXPECT_EQ(arguments.seeds, 0U);
  EXPECT_EQ(arguments.from, 42U);
  EXPECT_TRUE(arguments.trace);
  EXPECT_EQ(arguments.mutant, Mutant::no_margin);
}

TEST(Arguments, seeds_and_from_are_a_range) {
  Arguments arguments;
  EXPECT_EQ(wrong_with({"--seeds", "7", "--from", "3"}, arguments), "");
  EXPECT_EQ(arguments.seeds, 7U);
  EXPECT_EQ(arguments.from, 3U);
}

TEST(Arguments, what_is_wrong_is_named) {
  EXPECT_EQ(wrong_with({"--seeds"}), "--seeds needs a value");
  EXPECT_EQ(wrong_with({"--seeds", "many"}), "--seeds needs a whole number, not 'many'");
  EXPECT_EQ(wrong_with({"--seeds", "0"}), "--seeds needs at least 1");
  EXPECT_EQ(wrong_with({"--trace"}), "--trace needs a SEED");
  EXPECT_EQ(wrong_with({"7", "--less", "keys=0"}), "'keys=0' needs a number above 0");
  EXPECT_NE(wrong_with({"7", "--less", "keys=1,rain"}).find("'rain' cannot be left out"), std::string::npos);
  EXPECT_EQ(wrong_with({"1", "--from", "3"}), "give either a SEED or --seeds and --from, not both");
  EXPECT_NE(wrong_with({"--fast"}).find("'--fast': unknown argument"), std::string::npos);
  EXPECT_NE(wrong_with({"--mutant", "teenage"})
                .find("'teenage' is not a mutant; write one of none, deadline_from_the_reply"),
            std::string::npos);
}

TEST(Arguments, what_is_left_out_of_a_seed_is_told_as_it_is_given) {
  Arguments arguments;
  EXPECT_EQ(wrong_with({"7", "--less", "processes=2,keys=1,lost-reply,killed-process"}, arguments), "");
  EXPECT_EQ(to_string(arguments.less), "processes=2,keys=1,lost-reply,killed-process");
}

}  // namespace
}  // namespace holdfast::sim
