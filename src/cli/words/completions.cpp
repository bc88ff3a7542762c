// SPDX-License-Identifier: Apache-2.0
#include "cli/words/completions.h"

#include <algorithm>
#include <set>
#include <sstream>

#include "cli/words/choices.h"
#include "cli/words/help.h"
#include "holdfast/spi/descriptor.h"

namespace holdfast::cli {
namespace {

Completion::Kind kind_of(const std::string& name) {
  if (name == "KEY" || name == "PREFIX" || name == "KEY|JOB") return Completion::Kind::keys;
  if (name == "FILE") return Completion::Kind::files;
  if (name == "URL") return Completion::Kind::store;
  if (name == "PROGRAM") return Completion::Kind::program;
  if (name == "CMD") return Completion::Kind::command;
  return Completion::Kind::nothing;
}

Completion argument_of(const Table& table, const std::string& name) {
  if (name == "COMMAND") return {name, Completion::Kind::words, table.front().commands};
  if (name == "SUBCOMMAND") return {name, Completion::Kind::words, entry_of(table, "jobs").commands};
  if (name == "bash|zsh|fish") return {"SHELL", Completion::Kind::words, choices_of("SHELL")};
  return {name, kind_of(name)};
}

// "[KEY]..." is KEY.
std::string bare(std::string word) {
  std::erase_if(word, [](char letter) { return letter == '[' || letter == ']' || letter == '.'; });
  return word;
}

}  // namespace

Completion value_of(const OptionEntry& option) {
  std::vector<std::string> words = choices_of(option.names.back());
  const Completion::Kind kind = words.empty() ? kind_of(option.value) : Completion::Kind::words;
  return {option.value, kind, std::move(words)};
}

std::vector<Completion> arguments_of(const Table& table, const CommandEntry& command) {
  std::vector<Completion> arguments;
  if (!command.commands.empty()) return arguments;
  std::istringstream usage(usage_of(command.name).substr(("holdfast " + command.name).size()));
  for (std::string word; usage >> word;) {
    if (word == "[OPTION]..." || word == "[--]" || word == "|") continue;
    if (word.starts_with("--")) {
      usage >> word;  // its value
      continue;
    }
    arguments.push_back(argument_of(table, bare(word)));
    if (arguments.back().kind == Completion::Kind::command) break;
  }
  return arguments;
}

std::vector<OptionEntry> valued_options(const Table& table) {
  std::vector<OptionEntry> options;
  std::set<std::vector<std::string>> seen;
  for (const CommandEntry& command : table) {
    for (const OptionEntry& option : command.options) {
      if (!option.value.empty() && seen.insert(option.names).second) options.push_back(option);
    }
  }
  return options;
}

std::vector<std::string> valued_names(const Table& table) {
  std::vector<std::string> names;
  for (const OptionEntry& option : valued_options(table))
    names.insert(names.end(), option.names.begin(), option.names.end());
  return names;
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
  return text;
}

std::string replaced(std::string text, std::string_view what, std::string_view with) {
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + with.size()))
    text.replace(at, what.size(), with);
  return text;
}

std::string shell_quoted(const std::string& text) { return "'" + replaced(text, "'", R"('\'')") + "'"; }

std::string beginnings_of_stores() {
  std::string text;
  for (const StoreDescriptor& store : store_descriptors()) {
    if (store.place == StorePlace::process) continue;
    text += std::string(store.schemes.front()) + (store.place == StorePlace::file ? ": " : ":// ");
  }
  return text + "@";
}

std::vector<std::string> beginnings_of_files() {
  std::vector<std::string> all{"@"};
  for (const StoreDescriptor& store : store_descriptors()) {
    if (store.place == StorePlace::file) all.push_back(std::string(store.schemes.front()) + ":");
  }
  return all;
}

std::optional<std::string> completions(const std::string& shell, const Table& table) {
  if (shell == "bash") return bash_script(table);
  if (shell == "zsh") return zsh_script(table);
  if (shell == "fish") return fish_script(table);
  return std::nullopt;
}

}  // namespace holdfast::cli
