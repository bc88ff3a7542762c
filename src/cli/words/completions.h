// SPDX-License-Identifier: Apache-2.0
// completions.h - what shells complete our commands with.
//
// The scripts know the table of the commands; only for keys they ask the store, and not longer than a second.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/words/table.h"

namespace holdfast::cli {

// The script for that shell; none, if it is no shell known here.
std::optional<std::string> completions(const std::string& shell, const Table& table);

// -- of which the scripts are made

// What may stand somewhere.
struct Completion {
  enum class Kind : std::uint8_t { nothing, words, keys, files, store, program, command };
  std::string name;  // "KEY"
  Kind kind = Kind::nothing;
  std::vector<std::string> words = {};
};

// Behind that option; it takes a value.
Completion value_of(const OptionEntry& option);
// The words of a command, in order.  Where one is a `command` it is the last: what follows is its own.
std::vector<Completion> arguments_of(const Table& table, const CommandEntry& command);
// Every name of every option that takes a value: none takes one for one command and not for another.
std::vector<std::string> valued_names(const Table& table);
// Each option that takes a value once, whichever commands have it.
std::vector<OptionEntry> valued_options(const Table& table);

std::string joined(const std::vector<std::string>& words);
// With `with` in place of `what`, everywhere.
std::string replaced(std::string text, std::string_view what, std::string_view with);
// As sh, bash and zsh read it.
std::string shell_quoted(const std::string& text);

std::string bash_script(const Table& table);
std::string zsh_script(const Table& table);
std::string fish_script(const Table& table);

// A command of all shells that prints the keys of the store in HOLDFAST_STORE: those that need no quotes, so
// that nothing that somebody else has called a key is ever taken for a command.
inline constexpr const char* list_of_keys =
    R"sh(timeout 1 holdfast ls --json </dev/null 2>/dev/null | )sh"
    R"sh(LC_ALL=C sed -n 's|^{"key":"\([A-Za-z0-9_./][A-Za-z0-9_./:@%+,#-]*\)".*|\1|p')sh";

// How the URLs of stores begin, and those behind which a path follows: "SCHEME: SCHEME:// @".
std::string beginnings_of_stores();
std::vector<std::string> beginnings_of_files();

}  // namespace holdfast::cli
