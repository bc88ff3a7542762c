// SPDX-License-Identifier: Apache-2.0
// given.h - options as they were written, and how they become a command.
#pragma once
#include <array>
#include <charconv>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/words/command_line.h"

namespace holdfast::cli {

using Words = std::vector<std::string>;
using Text = std::optional<std::string>;

struct Given {
  Text key, prefix, prefix_option, topic, owner, note, ttl, by, wait, busy_code, token, reason, older_than,
      sort, tick, every, on_lost, at_least, at_most, interval, file, shell, code;
  // for jobs
  Text subtopic, args, name, unique, lock_timeout, window, limit, on_conflict, at, in, priority, attempts,
      exec, threads, claim, grace, kill_after, state;
  std::string at_most_from;  // FILE:LINE, if it comes from a configuration
  Words queues;
  Words stores;  // each --store
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

// The command of that name with these options; `words` are CMD and its arguments, or the words of a command
// of jobs.  Throws Failure with Errc::invalid and one sentence.  REQUIRES: name is not "help".
Command command_from(const std::string& name, const Given& given, Words words);
// The same for "jobs …" and "explain".
Command jobs_command_from(const std::string& name, const Given& given, const Words& words);

// ---- the value of an option; `option` is its name in the error

Millis duration(const char* option, const std::string& given);
// Longer than zero.
Millis some_duration(const char* option, const std::string& given);

template <class Number>
std::optional<Number> whole_number(const std::string& text) {
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool whole = error == std::errc{} && end == text.data() + text.size();
  return whole ? std::optional(number) : std::nullopt;
}

// Throws Failure with Errc::invalid.
[[noreturn]] void refuse(std::string sentence);

// A word for a sentence: quoted, escaped, and without a password.
std::string shown(const std::string& word);

// ---- the options of `run` and `acquire` that a configuration may set

struct Setting {
  std::string_view name;       // the option's long name
  Text Given::*into;           // none: nonblock, which has no value
  bool of_acquire;             // not only of run
  std::string_view otherwise;  // the default, as it can be written
};

// --owner is not among them, because all processes with one owner count as one holder; nor are --tick and
// --every, which belong to one crontab line.  wait and nonblock answer the same question: setting one sets
// both.
inline constexpr std::array settings = {
    Setting{"ttl", &Given::ttl, true, "30s"},
    Setting{"wait", &Given::wait, true, "forever"},
    Setting{"nonblock", nullptr, true, "false"},
    Setting{"note", &Given::note, true, ""},
    Setting{"on-lost", &Given::on_lost, false, "term"},
    Setting{"kill-after", &Given::kill_after, false, "auto"},
    Setting{"at-least", &Given::at_least, false, "0s"},
    Setting{"at-most", &Given::at_most, false, "forever"},
    Setting{"conflict-exit-code", &Given::busy_code, false, "75"},
};

// Checks the text as if it were given on the command line.  Throws Failure with one sentence that begins with
// the setting's name.
void check_setting(const Setting& setting, const std::string& text);

}  // namespace holdfast::cli
