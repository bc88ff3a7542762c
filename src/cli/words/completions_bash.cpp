// SPDX-License-Identifier: Apache-2.0
// completions_bash.cpp - for bash, with or without the package bash-completion.
#include "cli/words/completions.h"

namespace holdfast::cli {
namespace {

constexpr const char* bash_template =
    R"script(# What bash completes holdfast with; printed by `holdfast completions bash`.

_holdfast_table() { # COMMAND: what may stand behind it
  commands='' arguments=()
  case $1 in
@TABLE@  esac
}

_holdfast_value() { # OPTION PREFIX
  case $1 in
@VALUES@  esac
}

# Not for a store whose name the shell would have changed first.
_holdfast_keys() {
  [[ $store != *[\$\`\"\'\\~]* ]] || return
  (
    [[ -z $store ]] || export HOLDFAST_STORE=$store
    @KEYS@
  )
}

# Those WORDs that begin as what stands at the cursor. Readline wants of each what stands behind the last break; an @ stays.
_holdfast_offer() { # WORD...
  local cut='' word i
  for ((i = ${#current}; i > 0; --i)); do
    [[ $COMP_WORDBREAKS != *"${current:i-1:1}"* ]] || { cut=${current:0:i} && break; }
  done
  cut=${cut%@}
  for word; do
    [[ $word != "$current"* ]] || COMPREPLY+=("${word#"$cut"}")
  done
  [[ ${COMPREPLY[0]-} != *[:/@=] ]] || compopt -o nospace 2>/dev/null
}

_holdfast_files() { # PREFIX
  local found
  mapfile -t found < <(compgen -f -- "${current#"$1"}")
  ((${#found[@]} == 0)) || _holdfast_offer "${found[@]/#/$1}"
  compopt -o filenames 2>/dev/null
}

_holdfast_store() { # PREFIX
  case ${current#"$1"} in
@FILES@    *) _holdfast_words "$1" @STORES@ ;;
  esac
}

_holdfast_words() { # PREFIX WORD...
  local prefix=$1
  shift
  (($# == 0)) || _holdfast_offer "${@/#/$prefix}"
}

_holdfast_complete() { # PREFIX KIND
  case $2 in
    keys) _holdfast_words "$1" $(_holdfast_keys) ;;
    files) _holdfast_files "$1" ;;
    store) _holdfast_store "$1" ;;
    program) _holdfast_files "$1" ;;
    command) mapfile -t COMPREPLY < <(compgen -c -- "$current") ;;
    *) _holdfast_words "$1" $2 ;;
  esac
}

_holdfast() {
  local line=${COMP_LINE:0:COMP_POINT} words current word command='' commands options arguments argument=0 ended='' store='' i
  local valued=' @VALUED@ '
  COMPREPLY=()
  read -ra words <<<"$line"
  [[ $line != *[[:space:]] ]] || words+=('')
  current=${words[-1]}
  _holdfast_table ''
  for ((i = 1; i < ${#words[@]} - 1; ++i)); do
    word=${words[i]}
    if [[ -z $ended && $word == -- ]]; then
      ended=yes
    elif [[ -z $ended && $valued == *" $word "* ]]; then
      ((++i < ${#words[@]} - 1)) || { _holdfast_value "$word" '' && return; }
      [[ $word != --store ]] || store=${words[i]}
    elif [[ -z $ended && $word == -?* ]]; then
      [[ $word != --store=* ]] || store=${word#*=}
    elif [[ " $commands " == *" $word "* ]]; then
      command+=${command:+ }$word
      _holdfast_table "$command"
    elif [[ ${arguments[argument]-} == command ]]; then
      _holdfast_files ''
      return
    else
      ((++argument))
    fi
  done
  if [[ -z $ended && $current == --*=* ]]; then
    _holdfast_value "${current%%=*}" "${current%%=*}="
  elif [[ -z $ended && $current == -* ]]; then
    _holdfast_offer $options
  else
    _holdfast_complete '' "${commands:-${arguments[argument]-}}"
  fi
}

complete -F _holdfast holdfast
)script";

std::string kind_of(const Completion& completion) {
  switch (completion.kind) {
    case Completion::Kind::nothing: return "''";
    case Completion::Kind::words: return shell_quoted(joined(completion.words));
    case Completion::Kind::keys: return "keys";
    case Completion::Kind::files: return "files";
    case Completion::Kind::store: return "store";
    case Completion::Kind::program: return "program";
    case Completion::Kind::command: return "command";
  }
  return "''";
}

std::string row_of(const Table& table, const CommandEntry& command) {
  std::vector<std::string> names;
  for (const OptionEntry& option : usable_options(table, command))
    names.insert(names.end(), option.names.begin(), option.names.end());
  std::string row = "    " + shell_quoted(command.name) + ") options=" + shell_quoted(joined(names));
  if (!command.commands.empty()) row += " commands=" + shell_quoted(joined(command.commands));
  std::vector<std::string> arguments;
  for (const Completion& argument : arguments_of(table, command)) arguments.push_back(kind_of(argument));
  if (!arguments.empty()) row += " arguments=(" + joined(arguments) + ")";
  return row + " ;;\n";
}

std::string file_cases() {
  std::string cases;
  for (const std::string& lead : beginnings_of_files())
    cases += "    " + lead + "*) _holdfast_files \"$1" + lead + "\" ;;\n";
  return cases;
}

std::string values(const Table& table) {
  std::string rows;
  for (const OptionEntry& option : valued_options(table)) {
    const Completion value = value_of(option);
    if (value.kind == Completion::Kind::nothing) continue;
    rows += "    " + replaced(joined(option.names), " ", " | ") + ") _holdfast_complete \"$2\" " +
            kind_of(value) + " ;;\n";
  }
  return rows;
}

}  // namespace

std::string bash_script(const Table& table) {
  std::string rows;
  for (const CommandEntry& command : table) rows += row_of(table, command);
  std::string text = replaced(bash_template, "@TABLE@", rows);
  text = replaced(std::move(text), "@VALUES@", values(table));
  text = replaced(std::move(text), "@KEYS@", list_of_keys);
  text = replaced(std::move(text), "@FILES@", file_cases());
  text = replaced(std::move(text), "@STORES@", beginnings_of_stores());
  return replaced(std::move(text), "@VALUED@", joined(valued_names(table)));
}

}  // namespace holdfast::cli
