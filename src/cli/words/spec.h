// SPDX-License-Identifier: Apache-2.0
// spec.h - a command as data: its words, its options, its page, and the function that reads what was given.
//
// Parsing, help, man pages, completions and errors are made from it.  A command's .cpp has its spec and its
// code; commands.h is the list of all.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/exit_code.h"

namespace holdfast::cli {

using Words = std::vector<std::string>;
using Text = std::optional<std::string>;

struct Setup;
struct Given;

// The global options, and what is known of the store.
struct Common {
  std::string store;  // as it was given, empty if it was not; in an Action: the URL
  bool json = false;
  bool quiet = false;            // print no warnings about how the store is set up
  const Setup* setup = nullptr;  // in an Action: where the store came from
  Text inherited = {};           // in an Action: HOLDFAST_STORE as it was, with its password
};

// What a command does once everything that needs no store was checked.  Returns the exit code; may throw
// Failure.
using Action = std::function<int(const Common&)>;

struct OptionSpec {
  std::string_view names;                // "-w,--wait"
  std::string_view value;                // "DURATION"; empty: it takes no value
  std::string_view does;                 // one line
  Words (*choices)() = nullptr;          // the words that it takes; null: anything
  std::string (*filled_in)() = nullptr;  // replaces "{}" in `does`
};

// What somebody may try who knows another program, and what to suggest to him.
struct Instead {
  std::string_view option;
  std::string_view ours;
};

// none: the command has no store.  named: it shows which store it is, and reads no secret for that.
enum class StoreUse : std::uint8_t { none, named, opened };

struct CommandSpec {
  std::string_view name;   // "jobs ls"; empty: the program itself
  std::string_view usage;  // "[OPTION]... KEY": its words, in order
  std::string_view purpose;
  std::span<const OptionSpec> options = {};
  std::string_view more;                 // the rest of its page, and two examples: see paragraphs_of()
  std::string (*filled_in)() = nullptr;  // replaces "{}" in `more`
  Action (*read)(const Given& given);    // checks; throws Failure with Errc::invalid and one sentence
  std::string_view other_names = {};     // what other programs call it: "status inspect"
  std::span<const Instead> instead = {};
  StoreUse store = StoreUse::opened;
  bool takes_store = true;   // --store may be given
  bool takes_json = true;    // its page lists --json, which may be given to all
  bool takes_quiet = false;  // the same for --quiet
  bool configured = false;   // a configuration may set some of its options
  bool hidden = false;       // not listed
};

// For CommandSpec::read: READ makes a struct of what was given, and execute(that, common) is the action.
template <auto read>
Action reads(const Given& given) {
  return [command = read(given)](const Common& common) { return execute(command, common); };
}

// The options and words of one command line.  An option is asked for by its long name, "--wait".  It is one
// of the command's or a global one; otherwise std::logic_error is thrown.
struct Given {
  explicit Given(const CommandSpec& command);

  bool flag(std::string_view option) const;
  Text text(std::string_view option) const;  // the last of them
  const Words& texts(std::string_view option) const;
  Text word(std::size_t number) const;

  // As if it were given; `from` says where: FILE:LINE.
  void set(std::string_view option, const std::string& text, std::string from = {});
  const std::string& from(std::string_view option) const;

  struct Value {
    const OptionSpec* option;
    bool flag = false;
    Words texts = {};
    std::string from = {};
  };
  const CommandSpec* command;
  std::vector<Value> values;  // the global options first
  Words words = {};           // those that are no options
  Words cmd = {};             // CMD and its arguments

 private:
  std::size_t index_of(std::string_view option) const;
};

// ---- what can be read from a spec

Words names_of(const OptionSpec& option);
std::string does_of(const OptionSpec& option);
// Null: it has none of that name.
const OptionSpec* find_option(const CommandSpec& command, std::string_view name);
// Its own, then the global ones that it uses.  Not --version, which is a command.
std::vector<const OptionSpec*> usable_options(const CommandSpec& command);

// "holdfast show [OPTION]... KEY".
std::string usage_of(const CommandSpec& command);

// A word that stands behind a command, as its usage names it.
struct Argument {
  std::string name;       // "KEY"
  bool repeated = false;  // "ID..."
};
// If one is CMD it is the last: what follows is CMD's own.
std::vector<Argument> arguments_of(const CommandSpec& command);

// Those directly below it, without the hidden ones.
std::vector<const CommandSpec*> commands_below(const CommandSpec& command);
// The one that `word` names there, also a hidden one; null: none.
const CommandSpec* find_below(const CommandSpec& command, std::string_view word);
// What it is below: `jobs` of "jobs ls", the program of "ls".
const CommandSpec& above(const CommandSpec& command);
// "ls" of "jobs ls".
std::string_view last_word(const CommandSpec& command);

// With `with` in place of `what`, everywhere.
std::string replaced(std::string text, std::string_view what, std::string_view with);

}  // namespace holdfast::cli
