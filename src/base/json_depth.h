// SPDX-License-Identifier: Apache-2.0
// json_depth.h - how deep JSON from elsewhere is nested, before anything recursive is let near it.
#pragma once
#include <string>
#include <string_view>

#include "holdfast/result.h"

namespace holdfast {

// As Ruby's JSON has it, and MongoDB.  nlohmann::json reads any depth, but writes, copies and compares by
// recursion: a few 10,000 levels, which are few bytes, overflow the stack.
inline constexpr int deepest_json = 100;

// How many lists and objects lie in each other at most.  Of text that is no JSON: at least as many as a
// parser opens before it notices.
int json_depth(std::string_view text) noexcept;

// Errc::invalid says that `what` is nested deeper than that.
Status check_json_depth(std::string_view text, const std::string& what);

}  // namespace holdfast
