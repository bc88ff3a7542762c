// SPDX-License-Identifier: Apache-2.0
// values.h - the values of options and words, checked.
//
// Each throws Failure with Errc::invalid and one sentence that names the input and what would be valid.
#pragma once
#include <charconv>
#include <optional>
#include <string>
#include <system_error>

#include "cli/words/nearest.h"
#include "cli/words/spec.h"
#include "holdfast/clock.h"
#include "holdfast/options.h"

namespace holdfast::cli {

[[noreturn]] void refuse(std::string sentence);

// A word for a sentence: quoted, escaped, and without a password.
std::string shown(const std::string& word);
// "key, since or waiting".
std::string one_of_these(const Words& words);

// ---- a text; `option` is its name in the error

Millis duration(const char* option, const std::string& given);
// Longer than zero.
Millis some_duration(const char* option, const std::string& given);
// As RFC 3339 writes it: "2026-11-15T02:00:00Z", "2026-11-15T03:00:00.5+01:00"; from 1970 on.
Moment moment_of(const char* option, const std::string& given);
// Of a lease; without a text the default.
Millis ttl_of(const char* option, const Text& given);
// `where` says where to find it: "`holdfast show` shows".
Token token_of(const char* option, const std::string& given, const char* where);

template <class Number>
std::optional<Number> whole_number(const std::string& text) {
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool whole = error == std::errc{} && end == text.data() + text.size();
  return whole ? std::optional(number) : std::nullopt;
}

// ---- an option of a command line

struct Range {
  int least;
  int most;
};
int number_of(const Given& given, const char* option, Range range, int otherwise);

// Which of its choices was given.  REQUIRES: the option was given.
std::size_t choice_of(const Given& given, const char* option, const char* wrong = " is invalid");
// The value of that number: `all` has the order of the choices.
template <class Enum, std::size_t N>
Enum one_of(const Given& given, const char* option, const Enum (&all)[N], const char* wrong = " is invalid") {
  return all[choice_of(given, option, wrong)];
}

// ---- words and options that several commands have

std::string key_of(const Given& given);  // the first word
std::string owner_of(const Given& given);
Wait wait_of(const Given& given);  // -n and -w
Millis interval_of(const Given& given);
AcquireOptions acquire_options_of(const Given& given);

inline constexpr OptionSpec nonblock_option{"-n,--nonblock", "", "do not wait for a busy key"};
inline constexpr OptionSpec wait_option{
    "-w,--wait", "DURATION",
    "wait at most this long for the store and the key (default: 10s for the store, forever for a "
    "busy key)"};
inline constexpr OptionSpec ttl_option{"--ttl", "DURATION",
                                       "how long the lease lasts unless renewed (default: 30s)"};
inline constexpr OptionSpec owner_option{
    "--owner", "OWNER", "hold the lease under this name; all who use it count as one holder"};
inline constexpr OptionSpec note_option{"--note", "TEXT", "a text that is shown beside the key"};
inline constexpr OptionSpec interval_option{"--interval", "DURATION",
                                            "ask the store this often (default: 1s)"};

}  // namespace holdfast::cli
