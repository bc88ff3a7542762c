// SPDX-License-Identifier: Apache-2.0
// text.h - checks text that comes from outside, shows it safely, and fills in text of our own.
#pragma once
#include <functional>
#include <string>
#include <string_view>

#include "holdfast/result.h"

namespace holdfast {

// Well-formed UTF-8: no overlong forms, no surrogates, nothing past U+10FFFF.
bool is_utf8(std::string_view text) noexcept;

// Safe for a terminal, a log or a quoted message.  Control characters, bytes that are not UTF-8, characters
// that reorder text and invisible characters become \xNN.  The rest stays as it is.
std::string printable(std::string_view text);

// "holdfast --store URL init", quoted for a shell.
std::string store_command(std::string_view store, std::string_view command);

// Replaces each {WORD} of `text`, for example the names of tables in a statement, by word_for(WORD).
// REQUIRES: every { has its }.
std::string substitute(std::string_view text,
                       const std::function<std::string(std::string_view word)>& word_for);

// -- the nesting of JSON that comes from outside

// The limit of Ruby's JSON and of some databases.  nlohmann::json parses any depth, but writes, copies and
// compares by recursion: text of a few 10,000 levels, which is short, overflows the stack.
inline constexpr int deepest_json = 100;

// The largest number of lists and objects that are nested in each other.  For text that is not JSON: at least
// as many as a parser opens before it fails.
int json_depth(std::string_view text) noexcept;

// Errc::invalid if `text` is nested deeper than deepest_json; the error names it `what`.
Status check_json_depth(std::string_view text, const std::string& what);

}  // namespace holdfast
