// SPDX-License-Identifier: Apache-2.0
// completions_fish.cpp - for fish.
#include "cli/words/completions.h"
#include "cli/words/help.h"

namespace holdfast::cli {
namespace {

constexpr const char* fish_template =
    R"script(# What fish completes holdfast with; printed by `holdfast completions fish`.

# Of the line up to the cursor: the command, how many words stand behind it, and, if CMD has begun, CMD's line.
function __holdfast_line
    set -l valued @VALUED@
    set -l known @COMMANDS@
    set -l tokens (commandline -opc)
    set -l name ''
    set -l count 0
    set -l ended no
    set -e tokens[1]
    while set -q tokens[1]
        set -l token $tokens[1]
        if test $ended = no
            if test "$token" = --
                set ended yes
                set -e tokens[1]
                continue
            else if contains -- "$token" $valued
                set -e tokens[1]
                set -e tokens[1]
                continue
            else if string match -q -- '-?*' "$token"
                set -e tokens[1]
                continue
            end
        end
        if contains -- (string trim -- "$name $token") $known
            set name (string trim -- "$name $token")
        else if contains -- "$name $count" @CMDS@
            break
        else
            set count (math $count + 1)
        end
        set -e tokens[1]
    end
    string join \n -- "$name" $count (string escape -- $tokens)
end

function __holdfast_in # NAME: options of it may stand here
    set -l line (__holdfast_line)
    test "$line[1]" = "$argv[1]"; and test (count $line) -eq 2; and not contains -- -- (commandline -opc)
end

function __holdfast_ours # options of everyone may stand here
    __holdfast_in (__holdfast_line)[1]
end

function __holdfast_at # NAME COUNT: its next word stands here
    set -l line (__holdfast_line)
    test "$line[1]" = "$argv[1]"; and test "$line[2]" = "$argv[2]"
end

function __holdfast_cmd # what CMD itself is completed with
    set -l line (__holdfast_line)
    set -l text (string join ' ' -- $line[3..-1] (commandline -ct))
    complete --do-complete="$text"
end

# Not for a store whose name the shell would have changed first.
function __holdfast_keys
    set -l tokens (commandline -opc)
    set -l store (string replace -f -r '^--store=' '' -- $tokens)
    if set -l at (contains -i -- --store $tokens); and set -q tokens[(math $at + 1)]
        set store $tokens[(math $at + 1)]
    end
    if set -q store[1]
        string match -q -r '[$~]' -- $store[1]; and return
        set -lx HOLDFAST_STORE $store[1]
        __holdfast_list
    else
        __holdfast_list
    end
end

function __holdfast_list
    @KEYS@
end

function __holdfast_stores
    set -l current (string replace -r '^--store=' '' -- (commandline -ct))
    set -l lead (string match -r '^(?:@FILES@)' -- $current)
    if not set -q lead[1]
        string split ' ' -- '@STORES@'
        return
    end
    set -l path (string replace -- $lead '' $current)
    for file in $path*
        test -d $file; and echo $lead$file/; or echo $lead$file
    end
end

complete -c holdfast -f
@LINES@)script";

std::string fish_quoted(const std::string& text) {
  return "'" + replaced(replaced(text, "\\", "\\\\"), "'", "\\'") + "'";
}

// What stands behind -n.
std::string condition(const std::string& text) { return "complete -c holdfast -n " + fish_quoted(text); }
std::string at(const CommandEntry& command, std::size_t count) {
  return condition("__holdfast_at " + fish_quoted(command.name) + " " + std::to_string(count));
}

std::string offered(const Completion& completion) {
  switch (completion.kind) {
    case Completion::Kind::nothing: return "";
    case Completion::Kind::words: return " -a " + fish_quoted(joined(completion.words));
    case Completion::Kind::keys: return " -a '(__holdfast_keys)'";
    case Completion::Kind::files: return " -F";
    case Completion::Kind::store: return " -a '(__holdfast_stores)'";
    case Completion::Kind::program: return " -F";
    case Completion::Kind::command: return " -a '(__holdfast_cmd)'";
  }
  return "";
}

std::string option_line(const std::string& where, const OptionEntry& option) {
  std::string line = where;
  for (const std::string& name : option.names)
    line += name[1] == '-' ? " -l " + name.substr(2) : " -s " + name.substr(1);
  if (!option.value.empty()) {
    const Completion value = value_of(option);
    const bool is_file = value.kind == Completion::Kind::files || value.kind == Completion::Kind::program;
    line += (is_file ? " -r" : " -x") + offered(value);
  }
  return line + " -d " + fish_quoted(option.does) + "\n";
}

std::string lines_of(const Table& table, const CommandEntry& command) {
  std::string lines;
  const std::string before = command.name.empty() ? "" : command.name + " ";
  for (const std::string& name : command.commands)
    lines +=
        at(command, 0) + " -a " + name + " -d " + fish_quoted(std::string(purpose_of(before + name))) + "\n";
  for (const OptionEntry& option : command.options) {
    if (command.name.empty()) continue;
    lines += option_line(condition("__holdfast_in " + fish_quoted(command.name)), option);
  }
  std::size_t count = 0;
  for (const Completion& argument : arguments_of(table, command)) {
    if (argument.kind != Completion::Kind::nothing) lines += at(command, count) + offered(argument) + "\n";
    ++count;
  }
  return lines;
}

}  // namespace

std::string fish_script(const Table& table) {
  std::string lines;
  std::vector<std::string> names, cmds;
  for (const OptionEntry& option : usable_options(table, table.front()))
    lines += option_line(condition("__holdfast_ours"), option);
  for (const CommandEntry& command : table) {
    lines += lines_of(table, command);
    if (!command.name.empty()) names.push_back(fish_quoted(command.name));
    const std::vector<Completion> arguments = arguments_of(table, command);
    if (!arguments.empty() && arguments.back().kind == Completion::Kind::command)
      cmds.push_back(fish_quoted(command.name + " " + std::to_string(arguments.size() - 1)));
  }
  std::string text = replaced(fish_template, "@LINES@", lines);
  text = replaced(std::move(text), "@VALUED@", joined(valued_names(table)));
  text = replaced(std::move(text), "@COMMANDS@", joined(names));
  text = replaced(std::move(text), "@CMDS@", joined(cmds));
  text = replaced(std::move(text), "@KEYS@", list_of_keys);
  text = replaced(std::move(text), "@FILES@", replaced(joined(beginnings_of_files()), " ", "|"));
  return replaced(std::move(text), "@STORES@", beginnings_of_stores());
}

}  // namespace holdfast::cli
