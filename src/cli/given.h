// SPDX-License-Identifier: Apache-2.0
// given.h - options as they were written, and what they mean.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "cli/command_line.h"

namespace holdfast::cli {

using Words = std::vector<std::string>;
using Text = std::optional<std::string>;

struct Given {
  Text store, key, prefix, prefix_option, topic, owner, note, ttl, by, wait, busy_code, token, reason,
      older_than, sort;
  bool json = false;
  bool no_wait = false;
  bool held = false;
  bool dry_run = false;
  bool version = false;
};

// The command of that name with what was given to it; `cmd` is CMD and its arguments.  Throws Failure with
// Errc::invalid: one sentence.  REQUIRES: name is no "help".
Command command_from(const std::string& name, const Given& given, Words cmd);

// Throws that Failure.
[[noreturn]] void refuse(std::string sentence);

// A word in a sentence: quoted, escaped, without the password it may hold.
std::string shown(const std::string& word);

}  // namespace holdfast::cli
