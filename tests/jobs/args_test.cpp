// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "holdfast/job_args.h"

namespace holdfast::test {
namespace {

template <class Call>
std::string refusal(Call call) {
  try {
    call();
  } catch (const Failure& failure) {
    return failure.what();
  }
  return "";
}

TEST(Args, values_come_back_as_they_were_given) {
  const Args args = Args::of(true, -5, 18446744073709551615ull, 0.1, "ä\"\n", nullptr, std::vector<int>{1, 2},
                             Json{R"({"a":[1]})"});
  EXPECT_EQ(args.text(), R"([true,-5,18446744073709551615,0.1,"ä\"\n",null,[1,2],{"a":[1]}])");
  const Args read = Args::parse(args.text()).value();
  EXPECT_TRUE(read.get<bool>(0));
  EXPECT_EQ(read.get<int>(1), -5);
  EXPECT_EQ(read.get<std::uint64_t>(2), 18446744073709551615ull);
  EXPECT_EQ(read.get<double>(3), 0.1);
  EXPECT_EQ(read.get<std::string>(4), "ä\"\n");
  EXPECT_EQ(read.get<std::optional<int>>(5), std::nullopt);
  EXPECT_EQ(read.get<std::vector<int>>(6), (std::vector<int>{1, 2}));
  EXPECT_EQ(read.get<Json>(7), Json{R"({"a":[1]})"});
}

TEST(Args, a_value_of_another_kind_is_refused_by_its_number) {
  const Args args = Args::of("x", 300, -1, 1.5);
  EXPECT_EQ(refusal([&] { (void)args.get<int>(0); }).substr(0, 45),
            "argument 1: \"x\" is not a whole number from -2");
  EXPECT_EQ(refusal([&] { (void)args.get<std::uint8_t>(1); }),
            "argument 2: 300 is not a whole number from 0 to 255");
  EXPECT_NE(refusal([&] { (void)args.get<unsigned>(2); }), "");
  EXPECT_NE(refusal([&] { (void)args.get<int>(3); }), "");
  EXPECT_EQ(refusal([&] { (void)args.get<int>(4); }), "argument 5 is missing: the job has 4");
}

TEST(Args, what_is_no_json_array_is_refused) {
  EXPECT_EQ(Args::parse("{}").error().detail, "{} is not a JSON array");
  EXPECT_EQ(Args::parse("[1,").error().detail, "\"[1,\" is not valid JSON");
}

std::string nested(std::size_t levels) { return std::string(levels, '[') + std::string(levels, ']'); }

TEST(Args, a_hundred_levels_are_read_and_more_are_refused) {
  EXPECT_EQ(Args::parse(nested(100)).value().text(), nested(100));
  for (const std::size_t levels : {101u, 100'000u}) {
    const auto read = Args::parse(nested(levels));
    ASSERT_FALSE(read.has_value());
    EXPECT_EQ(read.error().code, Errc::invalid);
    EXPECT_EQ(read.error().detail,
              std::string(60, '[') + "… is nested deeper than 100 levels; pass the inner part as a string");
  }
  EXPECT_NE(refusal([] { (void)Args::of(Json{nested(100'000)}); }), "");
}

TEST(Args, a_json_text_is_one_value_and_brings_no_other_along) {
  using namespace std::string_literals;
  const std::string no_values[] = {"",
                                   " ",
                                   "x",
                                   "1,2",
                                   "1],[2",
                                   "1 2",
                                   "[1",
                                   "1,[2",
                                   "3]",
                                   "\"a",
                                   "// 1",
                                   "\"\xff\"",
                                   "1],",
                                   "1\0,2"s,
                                   "1\0],"s,
                                   "1]\0,[2"s,
                                   "\xEF\xBB\xBF"
                                   "1"};
  for (const std::string& text : no_values) {
    SCOPED_TRACE(::testing::PrintToString(text));
    EXPECT_NE(refusal([&] { (void)Args::of(Json{text}); }), "");
    EXPECT_NE(refusal([&] { (void)Args::of(std::vector{Json{text}}); }), "");
    EXPECT_NE(refusal([&] { (void)Args::of_json({"1", text}); }), "");
  }
  EXPECT_EQ(refusal([] { (void)Args::of(Json{"1],[2"}); }), "1],[2 is not one JSON value");
  EXPECT_EQ(Args::of(Json{" {\"a\" : [1, 2]}\n"}, 3).text(), "[ {\"a\" : [1, 2]}\n,3]");
}

}  // namespace
}  // namespace holdfast::test
