// SPDX-License-Identifier: Apache-2.0
#include "holdfast/result.h"

#include <gtest/gtest.h>

#include <memory>
#include <set>

#include "holdfast/version.h"

namespace holdfast {
namespace {

using namespace std::chrono_literals;

constexpr Errc every_code[] = {Errc::busy,     Errc::timeout,    Errc::exhausted,   Errc::stopped,
                               Errc::too_late, Errc::lost,       Errc::unavailable, Errc::in_doubt,
                               Errc::refused,  Errc::unprepared, Errc::invalid,     Errc::forked};

TEST(Result, holds_a_value) {
  Result<int> result = 7;
  EXPECT_TRUE(result);
  EXPECT_TRUE(result.has_value());
  EXPECT_EQ(*result, 7);
  EXPECT_EQ(std::move(result).value(), 7);
}

TEST(Result, a_value_may_be_moved_out) {
  Result<std::unique_ptr<int>> result = std::make_unique<int>(7);
  const std::unique_ptr<int> out = *std::move(result);
  EXPECT_EQ(*out, 7);
}

TEST(Result, holds_an_error) {
  const Result<std::string> result = Error{Errc::busy, "k is held by ann", "ann", 5s};
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, Errc::busy);
  EXPECT_EQ(result.error().owner, "ann");
  EXPECT_EQ(result.error().remaining, 5s);
}

TEST(Result, a_status_without_error_says_that_it_was_done) {
  EXPECT_TRUE(Status{});
  EXPECT_NO_THROW(Status{}.value());
}

TEST(Result, value_throws_the_error_whole) {
  for (const Errc code : every_code) {
    Result<int> result =
        Error{.code = code, .detail = "words", .owner = "ann", .remaining = 5s, .loss = Loss::stolen};
    try {
      std::move(result).value();
      FAIL() << to_string(code) << " was not thrown";
    } catch (const Failure& failure) {
      EXPECT_EQ(failure.error().code, code);
      EXPECT_STREQ(failure.what(), "words");
      EXPECT_EQ(failure.error().owner, "ann");
      EXPECT_EQ(failure.error().remaining, 5s);
      const auto* const lost = dynamic_cast<const LeaseLost*>(&failure);
      EXPECT_EQ(lost != nullptr, code == Errc::lost) << to_string(code);
      EXPECT_EQ(lost ? lost->reason() : Loss::stolen, Loss::stolen);
    }
  }
}

TEST(Result, has_the_interface_of_std_expected) {
  Result<int> value = 3;
  const Result<int> error = Error{Errc::busy, "held"};
  value.value() = 4;
  EXPECT_EQ(value.value(), 4);
  EXPECT_THROW((void)error.value(), Failure);
  EXPECT_EQ(value.value_or(9), 4);
  EXPECT_EQ(error.value_or(9), 9);
  const auto text = [](int n) -> Result<std::string> {
    return std::string(static_cast<std::size_t>(n), 'x');
  };
  EXPECT_EQ(*value.and_then(text), "xxxx");
  EXPECT_EQ(error.and_then(text).error().code, Errc::busy);
  EXPECT_EQ(value.transform([](int n) { return n * 2; }).value(), 8);
  EXPECT_TRUE(value.transform([](int) {}));
  EXPECT_FALSE(error.transform([](int n) { return n * 2; }));
  EXPECT_EQ(
      error.or_else([](const Error& e) -> Result<int> { return static_cast<int>(e.detail.size()); }).value(),
      4);
  Result<std::unique_ptr<int>> moved = std::make_unique<int>(5);
  EXPECT_EQ(std::move(moved).transform([](std::unique_ptr<int> p) { return *p; }).value(), 5);
}

TEST(Result, an_error_answers_questions) {
  const struct {
    Errc code;
    bool retryable, busy, in_doubt;
  } table[] = {
      {Errc::busy, true, true, false},         {Errc::timeout, true, true, false},
      {Errc::exhausted, true, true, false},    {Errc::stopped, false, false, false},
      {Errc::too_late, true, false, false},    {Errc::lost, false, false, false},
      {Errc::unavailable, true, false, false}, {Errc::in_doubt, true, false, true},
      {Errc::refused, false, false, false},    {Errc::unprepared, false, false, false},
      {Errc::invalid, false, false, false},    {Errc::forked, false, false, false},
  };
  static_assert(std::size(table) == std::size(every_code));
  for (const auto& row : table) {
    const Error error{row.code, ""};
    EXPECT_EQ(error.retryable(), row.retryable) << to_string(row.code);
    EXPECT_EQ(error.busy(), row.busy) << to_string(row.code);
    EXPECT_EQ(error.in_doubt(), row.in_doubt) << to_string(row.code);
  }
}

TEST(Result, every_code_and_every_loss_has_a_name_of_its_own) {
  std::set<std::string> names;
  for (const Errc code : every_code) EXPECT_TRUE(names.insert(to_string(code)).second) << to_string(code);
  std::set<std::string> losses;
  for (const Loss loss :
       {Loss::none, Loss::unreachable, Loss::stolen, Loss::broken, Loss::gone, Loss::forked}) {
    EXPECT_TRUE(losses.insert(to_string(loss)).second) << to_string(loss);
  }
  EXPECT_FALSE(names.contains("?"));
  EXPECT_FALSE(losses.contains("?"));
}

TEST(Result, the_version_is_written_with_dots) {
  EXPECT_EQ(version(), std::to_string(HOLDFAST_VERSION_MAJOR) + "." + std::to_string(HOLDFAST_VERSION_MINOR) +
                           "." + std::to_string(HOLDFAST_VERSION_PATCH));
}

}  // namespace
}  // namespace holdfast
