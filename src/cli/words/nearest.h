// SPDX-License-Identifier: Apache-2.0
// nearest.h - suggests a known word for a mistyped one.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::cli {

// The number of letters that were left out, added, replaced or swapped with their neighbour.
std::size_t distance(std::string_view a, std::string_view b);

// The nearest known word, the first of equals; case does not count.  Empty if more than a third of the
// letters are wrong (one wrong letter of two or three is accepted).
std::string nearest(std::string_view word, const std::vector<std::string>& known);

// With a to z in place of A to Z.
std::string lower(std::string_view word);

// The continuation of a sentence about a wrong word: "; did you mean run? ", or "; " if no word is near.
std::string suggestion_of(const std::string& meant);
std::string suggestion(std::string_view word, const std::vector<std::string>& known);

}  // namespace holdfast::cli
