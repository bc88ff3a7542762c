// SPDX-License-Identifier: Apache-2.0
#include "cli/words/command_line.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <sstream>

#include "base/text.h"
#include "base/url.h"
#include "cli/commands.h"
#include "cli/output.h"
#include "cli/words/pages.h"
#include "cli/words/values.h"
#include "holdfast/spi/descriptor.h"

namespace holdfast::cli {
namespace {

void append(Words& to, const Words& words) { to.insert(to.end(), words.begin(), words.end()); }

// ---- which words are ours, and where CMD begins

struct Split {
  const CommandSpec* command = &commands::program;  // the innermost that was named
  Words ours;                                       // for CLI11: the command's names, and options
  Words words;                                      // of the command
  Words cmd;
};

// Reads the words once and finds the command, its words and CMD.  CLI11 gets only the options: it would
// search for them among CMD's arguments too.
class Scan {
 public:
  explicit Scan(const Words& words) : words_(words) {}

  Split split() {
    take_options();
    while (!at_end() && descend()) take_options();
    const CommandSpec& command = *out_.command;
    const bool is_group = !commands_below(command).empty();  // what follows is not a command of it
    if (has_cmd()) {
      take_words_before_cmd();
      return std::move(out_);
    }
    Words& words = is_group ? out_.ours : out_.words;
    while (!at_end() && !at("--")) {
      words.push_back(take());
      take_options();
    }
    if (at("--") && !is_group) take();
    append(words, rest());
    return std::move(out_);
  }

 private:
  bool at_end() const { return next_ == words_.size(); }
  bool at(std::string_view word) const { return !at_end() && words_[next_] == word; }
  const std::string& take() { return words_[next_++]; }
  Words rest() const { return {words_.begin() + static_cast<std::ptrdiff_t>(next_), words_.end()}; }

  bool descend() {
    const CommandSpec* const below = find_below(*out_.command, words_[next_]);
    if (below == nullptr) return false;
    out_.command = below;
    out_.ours.push_back(take());
    return true;
  }

  bool has_cmd() const {
    const std::vector<Argument> arguments = arguments_of(*out_.command);
    return !arguments.empty() && arguments.back().name == "CMD";
  }

  void take_words_before_cmd() {
    const std::size_t before = arguments_of(*out_.command).size() - 1;
    const bool options_ended = at("--");
    if (options_ended) take();
    while (out_.words.size() < before && !at_end() && (options_ended || !at("--"))) {
      out_.words.push_back(take());
      if (!options_ended) take_options();
    }
    if (at("--")) take();
    out_.cmd = rest();
  }

  // Takes the options at this place, with their values.
  void take_options() {
    while (at_option() && !is_word(words_[next_])) {
      const std::string& word = take();
      const std::size_t equals = word.find('=');
      if (equals != std::string::npos && takes_value(word.substr(0, equals))) {
        // As two words, because for "--note=" CLI11 would take the next word as the value.
        append(out_.ours, {word.substr(0, equals), word.substr(equals + 1)});
        continue;
      }
      out_.ours.push_back(word);
      if (!wants_next_word(word)) continue;
      if (at_end()) refuse(shown(word) + " needs a value; give it as the next word");
      out_.ours.push_back(take());
    }
  }

  bool at_option() const {
    return !at_end() && words_[next_].size() > 1 && words_[next_][0] == '-' && !at("--");
  }
  // A negative number.  Where a CMD follows, it is more likely a mistake.
  bool is_word(const std::string& word) const {
    if (word[1] < '0' || word[1] > '9' || !commands_below(*out_.command).empty()) return false;
    const std::string name(out_.command->name);
    if (has_cmd())
      refuse("unknown option " + shown(word) + " for " + name +
             "; put -- before a word that begins with -, or see `holdfast help " + name + "`");
    return true;
  }
  // "--ttl", "-w", "-nw" do; "--json", "-w5s", "-n" do not.
  bool wants_next_word(const std::string& word) const {
    if (word[1] == '-') return takes_value(word);
    for (std::size_t i = 1; i < word.size(); ++i) {
      if (takes_value(std::string("-") + word[i])) return i + 1 == word.size();
    }
    return false;
  }
  bool takes_value(const std::string& name) const {
    const OptionSpec* option = find_option(*out_.command, name);
    if (option == nullptr) option = find_option(commands::program, name);
    return option != nullptr && !option->value.empty();
  }

  const Words& words_;
  std::size_t next_ = 0;
  Split out_;
};

// ---- CLI11

void bind(CLI::App& app, Given::Value& value) {
  const std::string names(value.option->names);
  if (value.option->value.empty()) {
    app.add_flag(names, value.flag);
    return;
  }
  app.add_option_function<std::string>(names,
                                       [&value](const std::string& text) { value.texts.push_back(text); })
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->trigger_on_parse()
      ->expected(1);
}

// Only the chosen command is built: building all takes longer than acquiring a lease.
void build(CLI::App& app, Given& given) {
  const std::size_t globals = commands::program.options.size();
  app.set_help_flag(std::string(commands::program.options.front().names));
  app.fallthrough();
  for (std::size_t i = 1; i < globals; ++i) bind(app, given.values[i]);
  CLI::App* level = &app;
  std::istringstream names{std::string(given.command->name)};
  for (std::string name; names >> name;) level = level->add_subcommand(name);
  for (std::size_t i = globals; i < given.values.size(); ++i) bind(*level, given.values[i]);
}

// ---- errors

// The options that may follow the command.
Words option_names(const CommandSpec& command) {
  Words names{"--help"};
  const auto add = [&](const CommandSpec& of) {
    for (const OptionSpec& option : of.options) {
      for (const std::string& name : names_of(option)) {
        if (name.starts_with("--")) names.push_back(name);
      }
    }
  };
  add(command);
  if (&command != &commands::program) add(commands::program);
  return names;
}

// What somebody means who knows another program.
std::string meant_instead(const std::string& option, const CommandSpec& command) {
  for (const Instead& row : command.instead) {
    if (row.option == option) return std::string(row.ours);
  }
  return "";
}

std::string page_hint(const CommandSpec& command) {
  return "see `holdfast help" + (command.name.empty() ? "" : " " + std::string(command.name)) + "`";
}

// The error for a word that CLI11 did not expect.
std::string not_expected(const CLI::App& app, const CommandSpec& command) {
  const Words words = app.remaining(true);
  const std::string word = words.empty() ? "" : words.front();
  const std::string name(command.name);
  if (word.size() > 1 && word[0] == '-') {
    // The name in "--tll=5s", and the one in "-k5s".
    const std::string option = word.substr(0, word.find('='));
    const std::string meant = meant_instead(word[1] == '-' ? option : word.substr(0, 2), command);
    return "unknown option " + shown(word) + (name.empty() ? "" : " for " + name) +
           (meant.empty() ? suggestion(option, option_names(command)) : suggestion_of(meant)) +
           page_hint(command);
  }
  return "unknown command " + shown(word) + (name.empty() ? "" : " of " + name) +
         suggested_command(word, command) + page_hint(command);
}

void check_words(const Given& given) {
  const std::vector<Argument> arguments = arguments_of(*given.command);
  const bool any = std::any_of(arguments.begin(), arguments.end(),
                               [](const Argument& argument) { return argument.repeated; });
  if (!any && given.words.size() > arguments.size())
    refuse("unexpected argument " + shown(given.words[arguments.size()]) + "; " + page_hint(*given.command));
}

// ---- the rest

CommandLine line_of(Given given, const FillIn& fill_in) {
  const bool version = given.flag("--version");
  const CommandSpec& command = version ? commands::version : *given.command;
  if (given.flag("--verbose") && &command != &commands::version)
    refuse("--verbose is only for version; run `holdfast version --verbose`");
  Words stores = given.texts("--store");
  if (!stores.empty() && !command.takes_store)
    refuse("--store is not for " + std::string(command.name) + ", which uses no store; leave it out");
  if (fill_in && command.configured) fill_in(given);
  Action action = command.read(given);
  const std::string store = stores.empty() ? "" : stores.back();
  if (!stores.empty() && store.empty())
    refuse("--store is empty; give the URL of a store, as " + std::string(default_store().url));
  given.command = &command;
  const Common common{.store = store, .json = given.flag("--json"), .quiet = given.flag("--quiet")};
  return {common, std::move(given), std::move(action), std::move(stores)};
}

CommandLine page_of(const CommandSpec& command) {
  Action prints = [text = help_text(command)](const Common&) {
    print_unchanged(text);
    return exit_ok;
  };
  return {{}, Given(commands::help), std::move(prints)};
}

}  // namespace

Result<CommandLine> parse_command_line(std::span<char* const> argv, const FillIn& fill_in) {
  const Words words(argv.begin() + (argv.empty() ? 0 : 1), argv.end());
  CLI::App app("", "holdfast");
  const CommandSpec* command = &commands::program;
  try {
    Split split = Scan(words).split();
    command = split.command;
    Given given(*command);
    given.words = std::move(split.words);
    given.cmd = std::move(split.cmd);
    build(app, given);
    app.parse(Words(split.ours.rbegin(), split.ours.rend()));  // CLI11 takes them from the end
    check_words(given);
    return line_of(std::move(given), fill_in);
  } catch (const CLI::CallForHelp&) {
    return page_of(*command);
  } catch (const CLI::ExtrasError&) {
    return Error{Errc::invalid, not_expected(app, *command)};
  } catch (const CLI::ParseError& e) {
    return Error{Errc::invalid, printable(redacted(e.what()))};  // it quotes the input
  } catch (const Failure& failure) {
    return failure.error();
  }
}

std::string suggested_command(const std::string& word, const CommandSpec& group) {
  Words known;
  for (const CommandSpec* const command : commands_below(group)) {
    const std::string name(last_word(*command));
    std::istringstream others{std::string(command->other_names)};
    for (std::string other; others >> other;) {
      if (other == lower(word)) return suggestion_of(name);
    }
    known.push_back(name);
  }
  return suggestion(word, known);
}

}  // namespace holdfast::cli
