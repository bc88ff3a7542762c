// SPDX-License-Identifier: Apache-2.0
// given.h - options as they were written, and what they mean.
#pragma once
#include <charconv>
#include <optional>
#include <string>
#include <vector>

#include "cli/words/command_line.h"

namespace holdfast::cli {

using Words = std::vector<std::string>;
using Text = std::optional<std::string>;

struct Given {
  Text key, prefix, prefix_option, topic, owner, note, ttl, by, wait, busy_code, token, reason, older_than,
      sort, tick, every, on_lost, at_least, at_most, interval, file, shell, code;
  // of jobs
  Text subtopic, args, name, unique, lock_timeout, window, limit, on_conflict, at, in, priority, attempts,
      exec, threads, claim, grace, kill_after, state;
  std::string at_most_from;  // FILE:LINE, if a configuration says it
  Words queues;
  Words stores;  // of everything
  bool lock = false;
  bool loner = false;
  bool once = false;
  bool json = false;
  bool quiet = false;
  bool no_wait = false;
  bool held = false;
  bool all = false;
  bool dry_run = false;
  bool version = false;
  bool verbose = false;
  bool watch = false;
  bool quick = false;
  bool strict = false;
  bool man = false;
};

// The command of that name with what was given to it; `words` are CMD and its arguments, or the words of a
// command of jobs.  Throws Failure with Errc::invalid: one sentence.  REQUIRES: name is no "help".
Command command_from(const std::string& name, const Given& given, Words words);
// The same for "jobs …" and "explain".
Command jobs_command_from(const std::string& name, const Given& given, const Words& words);

// -- what a word means; `option` is for the sentence

Millis duration(const char* option, const std::string& given);
// Longer than nothing.
Millis some_duration(const char* option, const std::string& given);

template <class Number>
std::optional<Number> whole_number(const std::string& text) {
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool whole = error == std::errc{} && end == text.data() + text.size();
  return whole ? std::optional(number) : std::nullopt;
}

// Throws that Failure.
[[noreturn]] void refuse(std::string sentence);

// A word in a sentence: quoted, escaped, without the password it may hold.
std::string shown(const std::string& word);

}  // namespace holdfast::cli
