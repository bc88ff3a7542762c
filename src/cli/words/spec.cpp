// SPDX-License-Identifier: Apache-2.0
#include "cli/words/spec.h"

#include <algorithm>
#include <sstream>
#include <stdexcept>

#include "cli/commands.h"

namespace holdfast::cli {
namespace {

// Without names_of(), because every start of the program asks it a hundred times.
bool is_named(const OptionSpec& option, std::string_view name) {
  std::string_view rest = option.names;
  for (std::size_t comma; (comma = rest.find(',')) != std::string_view::npos; rest.remove_prefix(comma + 1)) {
    if (rest.substr(0, comma) == name) return true;
  }
  return rest == name;
}

// A global option is not listed for a command that ignores it.
bool is_for(const OptionSpec& option, const CommandSpec& command) {
  if (is_named(option, "--json")) return command.takes_json;
  if (is_named(option, "--quiet")) return command.takes_quiet;
  if (is_named(option, "--store")) return command.takes_store;
  return is_named(option, "--help");
}

// "[KEY]..." is KEY.
std::string bare(std::string word) {
  std::erase_if(word, [](char letter) { return letter == '[' || letter == ']' || letter == '.'; });
  return word;
}

}  // namespace

Given::Given(const CommandSpec& of) : command(&of) {
  for (const OptionSpec& option : commands::program.options) values.push_back({&option});
  if (&of == &commands::program) return;
  for (const OptionSpec& option : of.options) values.push_back({&option});
}

std::size_t Given::index_of(std::string_view option) const {
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (is_named(*values[i].option, option)) return i;
  }
  throw std::logic_error(std::string(command->name) + " has no option " + std::string(option));
}

bool Given::flag(std::string_view option) const {
  (void)index_of(option);
  // `version` has a --verbose of its own beside the global one.
  return std::any_of(values.begin(), values.end(),
                     [&](const Value& value) { return value.flag && is_named(*value.option, option); });
}

Text Given::text(std::string_view option) const {
  const Words& all = texts(option);
  return all.empty() ? Text() : Text(all.back());
}

const Words& Given::texts(std::string_view option) const { return values[index_of(option)].texts; }

Text Given::word(std::size_t number) const { return number < words.size() ? Text(words[number]) : Text(); }

void Given::set(std::string_view option, const std::string& text, std::string from) {
  Value& value = values[index_of(option)];
  if (value.option->value.empty())
    value.flag = text == "true";
  else
    value.texts = {text};
  value.from = std::move(from);
}

const std::string& Given::from(std::string_view option) const { return values[index_of(option)].from; }

Words names_of(const OptionSpec& option) {
  Words names;
  std::istringstream list{std::string(option.names)};
  for (std::string name; std::getline(list, name, ',');) names.push_back(name);
  return names;
}

std::string does_of(const OptionSpec& option) {
  const std::string does(option.does);
  return option.filled_in == nullptr ? does : replaced(does, "{}", option.filled_in());
}

const OptionSpec* find_option(const CommandSpec& command, std::string_view name) {
  for (const OptionSpec& option : command.options) {
    if (is_named(option, name)) return &option;
  }
  return nullptr;
}

std::vector<const OptionSpec*> usable_options(const CommandSpec& command) {
  std::vector<const OptionSpec*> options;
  if (&command != &commands::program) {
    for (const OptionSpec& option : command.options) options.push_back(&option);
  }
  for (const OptionSpec& option : commands::program.options) {
    if (is_for(option, command)) options.push_back(&option);
  }
  return options;
}

std::string usage_of(const CommandSpec& command) {
  return "holdfast " + std::string(command.name) + (command.name.empty() ? "" : " ") +
         std::string(command.usage);
}

std::vector<Argument> arguments_of(const CommandSpec& command) {
  std::vector<Argument> arguments;
  if (!commands_below(command).empty()) return arguments;
  std::istringstream usage{std::string(command.usage)};
  for (std::string word; usage >> word;) {
    if (word == "[OPTION]..." || word == "[--]" || word == "|") continue;
    if (word.starts_with("--")) {
      usage >> word;  // its value
      continue;
    }
    arguments.push_back({bare(word), word.ends_with("...")});
    if (arguments.back().name == "CMD") break;
  }
  return arguments;
}

std::vector<const CommandSpec*> commands_below(const CommandSpec& command) {
  std::vector<const CommandSpec*> below;
  for (const CommandSpec* const other : all_commands) {
    if (other != &command && !other->hidden && &above(*other) == &command) below.push_back(other);
  }
  return below;
}

const CommandSpec* find_below(const CommandSpec& command, std::string_view word) {
  for (const CommandSpec* const other : all_commands) {
    if (other != &command && &above(*other) == &command && last_word(*other) == word) return other;
  }
  return nullptr;
}

const CommandSpec& above(const CommandSpec& command) {
  const std::size_t space = command.name.find(' ');
  for (const CommandSpec* const other : all_commands) {
    if (space != std::string_view::npos && other->name == command.name.substr(0, space)) return *other;
  }
  return commands::program;
}

std::string_view last_word(const CommandSpec& command) {
  return command.name.substr(command.name.rfind(' ') + 1);
}

std::string replaced(std::string text, std::string_view what, std::string_view with) {
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + with.size()))
    text.replace(at, what.size(), with);
  return text;
}

}  // namespace holdfast::cli
