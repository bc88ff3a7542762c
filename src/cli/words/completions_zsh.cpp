// SPDX-License-Identifier: Apache-2.0
// completions_zsh.cpp - for zsh, by its own _arguments.
#include "cli/words/completions.h"
#include "cli/words/help.h"

namespace holdfast::cli {
namespace {

constexpr const char* zsh_template = R"script(#compdef holdfast
# What zsh completes holdfast with; printed by `holdfast completions zsh`.

# Not for a store whose name the shell would have changed first.
_holdfast_keys() {
  local store=${${opt_args[--store]:-$holdfast_store}//\\:/:}
  local -a keys
  [[ $store != *[\$\`\"\'\\~]* ]] || return 1
  keys=(${(f)"$(
    [[ -z $store ]] || export HOLDFAST_STORE=$store
    @KEYS@
  )"})
  _wanted keys expl key compadd -a keys
}

_holdfast_store() {
  if compset -P '(@FILES@)'; then
    _files
  else
    _wanted stores expl store compadd -S '' -- @STORES@
  fi
}

_holdfast_command() { # NAME: what stands behind it
  case $1 in
@CASES@  esac
}

_holdfast() {
  local curcontext=$curcontext context state state_descr line expl holdfast_store
  typeset -A opt_args
  _holdfast_command ''
}

if [[ $funcstack[1] == _holdfast ]]; then
  _holdfast "$@"
else
  compdef _holdfast holdfast
fi
)script";

// Of a group of commands, `_arguments` stops behind the next word, and that word says how to go on.
constexpr const char* group = R"script(      local -a names=(
@LIST@      )
      _arguments -s -S -C \
@OPTIONS@        '1:COMMAND:{_describe command names}' '*::ARGUMENT:->behind' && return
      [[ $state == behind ]] || return 1
      holdfast_store=${opt_args[--store]:-$holdfast_store}
      opt_args=() state=''
      _holdfast_command @NEXT@
      ;;
)script";

// Within the brackets or between the colons of a description.
std::string described(std::string text) {
  for (const char* const special : {"\\", "[", "]", ":"})
    text = replaced(std::move(text), special, std::string("\\") + special);
  return text;
}

std::string action_of(const Completion& completion) {
  switch (completion.kind) {
    case Completion::Kind::nothing: return " ";
    case Completion::Kind::words: return "(" + replaced(joined(completion.words), ":", "\\:") + ")";
    case Completion::Kind::keys: return "_holdfast_keys";
    case Completion::Kind::files: return "_files";
    case Completion::Kind::store: return "_holdfast_store";
    case Completion::Kind::program: return " _command_names -e";
    case Completion::Kind::command: return " _command_names -e";
  }
  return " ";
}

// A line for each of its names, which exclude each other.
std::string lines_of(const OptionEntry& option) {
  std::string lines;
  for (const std::string& name : option.names) {
    std::string spec = "(" + joined(option.names) + ")" + name;
    if (!option.value.empty()) spec += name[1] == '-' ? "=" : "+";
    spec += "[" + described(option.does) + "]";
    if (!option.value.empty()) spec += ":" + option.value + ":" + action_of(value_of(option));
    lines += "        " + shell_quoted(spec) + " \\\n";
  }
  return lines;
}

std::string options_of(const Table& table, const CommandEntry& command) {
  std::string lines;
  for (const OptionEntry& option : usable_options(table, command)) lines += lines_of(option);
  return lines;
}

std::string group_of(const Table& table, const CommandEntry& command) {
  std::string list;
  const std::string before = command.name.empty() ? "" : command.name + " ";
  for (const std::string& name : command.commands)
    list += "        " + shell_quoted(name + ":" + std::string(purpose_of(before + name))) + "\n";
  std::string text = replaced(group, "@LIST@", list);
  text = replaced(std::move(text), "@OPTIONS@", options_of(table, command));
  return replaced(std::move(text), "@NEXT@", "\"" + before + "$line[1]\"");
}

// `_arguments` finds no command behind `--`: it is taken away, the words count as well without it.
constexpr const char* without_dashes = R"script(      local -i dashes=${words[(i)--]}
      (( dashes >= CURRENT )) || { words[dashes]=() && (( CURRENT-- )) }
)script";

std::string single(const Table& table, const CommandEntry& command) {
  std::size_t position = 0;
  std::string words;
  bool has_cmd = false;
  for (const Completion& argument : arguments_of(table, command)) {
    has_cmd = argument.kind == Completion::Kind::command;
    words += " " + shell_quoted((has_cmd ? "(-)" : "") + std::to_string(++position) + ":" +
                                described(argument.name) + ":" + action_of(argument));
  }
  if (has_cmd) words += " '*::ARG:_normal'";
  return (has_cmd ? without_dashes : "") + std::string("      _arguments -s -S \\\n") +
         options_of(table, command) + "       " + (words.empty() ? " && return" : words) + "\n      ;;\n";
}

}  // namespace

std::string zsh_script(const Table& table) {
  std::string cases;
  for (const CommandEntry& command : table) {
    cases += "    " + shell_quoted(command.name) + ")\n";
    cases += command.commands.empty() ? single(table, command) : group_of(table, command);
  }
  std::string text = replaced(zsh_template, "@CASES@", cases);
  text = replaced(std::move(text), "@KEYS@", list_of_keys);
  text = replaced(std::move(text), "@FILES@", replaced(joined(beginnings_of_files()), " ", "|"));
  return replaced(std::move(text), "@STORES@", beginnings_of_stores());
}

}  // namespace holdfast::cli
