// SPDX-License-Identifier: Apache-2.0
// substitute.h - replaces {names} in a text from a file: the names of tables in a statement.
#pragma once
#include <functional>
#include <string>
#include <string_view>

namespace holdfast {

// `text` with each {WORD} replaced by what `word_for` says.  REQUIRES: every { has its }.
std::string substitute(std::string_view text,
                       const std::function<std::string(std::string_view word)>& word_for);

}  // namespace holdfast
