// SPDX-License-Identifier: Apache-2.0
// nearest.h - which of the known words was meant by one that is not among them.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::cli {

// How many letters were left out, added, mistaken or swapped with their neighbour; a letter is changed once.
std::size_t distance(std::string_view a, std::string_view b);

// Whatever their case, the first of those that are nearest, if at most a third of its letters are wrong (but
// one may always be, of two or more); else empty.
std::string nearest(std::string_view word, const std::vector<std::string>& known);

// What other programs call one of ours: "list" is ls.  Empty if it is none of `known`.
std::string synonym(std::string_view word, const std::vector<std::string>& known);
// The same for an option of that command: -k of timeout is --kill-after.  It may be more than an option.
std::string option_synonym(std::string_view option, std::string_view command);

// How a sentence about a wrong word goes on: "; did you mean run? ", or "; " if nothing is near.
std::string suggestion_of(const std::string& meant);
std::string suggestion(std::string_view word, const std::vector<std::string>& known);

}  // namespace holdfast::cli
