// SPDX-License-Identifier: Apache-2.0
// rule_cases.h - every row of the table in holdfast/spi/store.h, as a small story of one key: what was done
// to it before, at which moments, and what is asked of it now.
#pragma once
#include <string>
#include <vector>

#include "tests/support/fixed_clock.h"

namespace holdfast::test {

// Of a lease that is over about now.
inline constexpr Millis life_until_now{5000};

enum class TokenGiven : std::uint8_t { none, right, wrong };

struct Ask {
  Who who = Who::us;
  Verb verb = Verb::acquire;
  std::string owner = {};
  TokenGiven token = TokenGiven::none;
  Millis ttl{}, place{}, longest_place{};
  bool extend = false, detached = false;
  std::string note = {};
};

struct Step {
  Micros at;  // from now: never later
  Ask ask;
};

// When the lease of a row ends, seen from now.
enum class Ends : std::uint8_t { far_away, before, at, after };

struct RuleCase {
  std::string name;
  Ends ends;
  std::vector<Step> before;
  Ask asked;
};

// `tick` is the smallest difference of time that the store knows.
std::vector<RuleCase> all_rule_cases(Micros tick);

}  // namespace holdfast::test
