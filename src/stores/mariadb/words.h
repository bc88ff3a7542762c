// SPDX-License-Identifier: Apache-2.0
// words.h - values as SQL text that needs no quoting: strings in hex, numbers in digits.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "holdfast/clock.h"

namespace holdfast::mariadb {

// x'6162': nothing in it can end the literal, and no character set can change it.
std::string hex(std::string_view text);
// Digits, or NULL.
std::string digits(std::optional<std::int64_t> number);
// A DATETIME, from microseconds since 1970; none: NULL.
std::string datetime(std::optional<Micros> moment);

// What goes between the braces of a statement: {{"key", hex(key)}}.
using Values = std::vector<std::pair<std::string_view, std::string>>;
std::string with(std::string_view statement, const Values& values);

}  // namespace holdfast::mariadb
