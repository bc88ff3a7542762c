// SPDX-License-Identifier: Apache-2.0
// command_line.h - parses the command line by the specs of the commands.
#pragma once
#include <functional>
#include <span>

#include "cli/words/spec.h"
#include "holdfast/result.h"

namespace holdfast::cli {

struct CommandLine {
  Common common;
  Given given;        // given.command: what is run
  Action action;      // runs it
  Words stores = {};  // every --store; the last one counts
};

// Checks everything that needs no store: keys, durations, numbers, options that exclude each other.  The
// error is Errc::invalid with one sentence that names the input and what would be valid.
//
//   holdfast [GLOBAL]... COMMAND [OPTION]... [WORD]...
//
// Global options may also follow COMMAND.  If a usage has CMD, parsing stops at `--` or at the first word
// behind the other words that is not an option: this is CMD, and everything after it belongs to CMD.  For the
// other commands, a negative number is a word.
//
// For a command that a configuration may set, `fill_in` may add options before they are checked.  It may
// throw Failure.
using FillIn = std::function<void(Given& given)>;
Result<CommandLine> parse_command_line(std::span<char* const> argv, const FillIn& fill_in = {});

// The continuation of a sentence about a word that is not a command: "; did you mean run? ".
std::string suggested_command(const std::string& word, const CommandSpec& group);

}  // namespace holdfast::cli
