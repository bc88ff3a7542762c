// SPDX-License-Identifier: Apache-2.0
#include "cli/command_line.h"

#include <CLI/CLI.hpp>

#include "base/text.h"
#include "base/url.h"
#include "cli/given.h"
#include "cli/help.h"
#include "cli/option_table.h"

namespace holdfast::cli {
namespace {

std::string page_of(const CLI::App& app) {
  std::vector<OptionLine> lines;
  for (const CLI::App* level = &app; level != nullptr; level = level->get_parent()) {
    for (const CLI::Option* option : level->get_options()) {
      const bool told = option->get_positional() || (level != &app && option->check_lname("help"));
      if (told || option->check_lname("version")) continue;
      lines.push_back(
          {option->get_name(false, true) + " " + option->get_option_text(), option->get_description()});
    }
  }
  return help_text(full_name(app), lines);
}

const CLI::App* find(const CLI::App& app, const std::string& command) {
  for (const CLI::App* candidate : app.get_subcommands({})) {
    if (candidate->get_name() == command) return candidate;
  }
  return nullptr;
}

// ---- where CMD begins

// Goes over the words once, by CLI11's own table of options.  CLI11 itself would go on looking for options
// of ours among CMD's arguments: it gets only what stands before CMD.
class Scan {
 public:
  Scan(const CLI::App& app, const Words& words) : app_(app), words_(words) {}

  bool at_end() const { return next_ == words_.size(); }
  bool at(std::string_view word) const { return !at_end() && words_[next_] == word; }
  const std::string& take() { return words_[next_++]; }
  Words rest() const { return {words_.begin() + static_cast<std::ptrdiff_t>(next_), words_.end()}; }

  // The options that stand here, with their values.
  Words options(const CLI::App& command) {
    Words out;
    while (at_option() && !(numbers_are_words_ && is_number(words_[next_]))) {
      const std::string& word = take();
      const std::size_t equals = word.find('=');
      if (equals != std::string::npos && takes_value(command, word.substr(0, equals))) {
        // As two words, because CLI11 takes "--note=" to want the next word for its value.
        out.insert(out.end(), {word.substr(0, equals), word.substr(equals + 1)});
        continue;
      }
      out.push_back(word);
      if (!wants_next_word(command, word)) continue;
      if (at_end()) refuse(shown(word) + " wants a value behind it");
      out.push_back(take());
    }
    return out;
  }

  // From now on "-5" is no option.
  void take_numbers_for_words() { numbers_are_words_ = true; }

 private:
  bool at_option() const {
    return !at_end() && words_[next_].size() > 1 && words_[next_][0] == '-' && !at("--");
  }
  static bool is_number(const std::string& word) { return word[1] >= '0' && word[1] <= '9'; }
  // "--ttl", "-w", "-nw" do; "--json", "-w5s", "-n" do not.
  bool wants_next_word(const CLI::App& command, const std::string& word) const {
    if (word[1] == '-') return takes_value(command, word);
    for (std::size_t i = 1; i < word.size(); ++i) {
      if (takes_value(command, std::string("-") + word[i])) return i + 1 == word.size();
    }
    return false;
  }
  bool takes_value(const CLI::App& command, const std::string& name) const {
    const CLI::Option* option = command.get_option_no_throw(name);
    if (option == nullptr) option = app_.get_option_no_throw(name);  // everyone's
    return option != nullptr && option->get_items_expected_max() > 0;
  }

  const CLI::App& app_;
  const Words& words_;
  std::size_t next_ = 0;
  bool numbers_are_words_ = false;
};

void append(Words& to, const Words& words) { to.insert(to.end(), words.begin(), words.end()); }

struct Split {
  Words ours;
  Words words;  // of `run`: CMD and its arguments; of `jobs …` and `explain`: all that is no option
};

// The options go to CLI11; whatever the words look like, they are words.
void split_words(Scan& scan, const CLI::App& command, Split& out) {
  scan.take_numbers_for_words();
  while (!scan.at_end() && !scan.at("--")) {
    append(out.ours, scan.options(command));
    if (!scan.at_end() && !scan.at("--")) out.words.push_back(scan.take());
  }
  if (scan.at("--")) scan.take();
  append(out.words, scan.rest());
}

Split split(const CLI::App& app, const Words& words) {
  Scan scan(app, words);
  Split out{scan.options(app), {}};
  const CLI::App* const command = scan.at_end() ? nullptr : find(app, out.ours.emplace_back(scan.take()));
  if (command != nullptr && command->get_name() == "jobs") {
    append(out.ours, scan.options(*command));
    if (scan.at_end()) return out;
    const CLI::App* const sub = find(*command, out.ours.emplace_back(scan.take()));
    if (sub != nullptr) split_words(scan, *sub, out);
    return out;
  }
  if (command != nullptr && command->get_name() == "explain") {
    split_words(scan, *command, out);
    return out;
  }
  if (command == nullptr || command->get_name() != "run") {
    while (!scan.at_end() && !scan.at("--")) {
      append(out.ours, scan.options(command != nullptr ? *command : app));
      if (!scan.at_end() && !scan.at("--")) out.ours.push_back(scan.take());
    }
    append(out.ours, scan.rest());
    return out;
  }
  append(out.ours, scan.options(*command));
  const bool options_ended = scan.at("--");
  if (options_ended) scan.take();
  if (scan.at_end()) return out;
  const std::string key = scan.take();
  if (!options_ended) append(out.ours, scan.options(*command));
  if (scan.at("--")) scan.take();
  out.words = scan.rest();
  append(out.ours, {"--", key});
  return out;
}

// ---- the rest

// The innermost; the program itself, if there is none.
const CLI::App& chosen_command(const CLI::App& app) {
  const auto chosen = app.get_subcommands();
  return chosen.empty() ? app : chosen_command(*chosen.front());
}

std::string page_of_topic(const CLI::App& app, const Given& given) {
  if (!given.topic) return page_of(app);
  const CLI::App* const command = find(app, *given.topic);
  if (command == nullptr) refuse(shown(*given.topic) + " is no command: holdfast help lists them");
  if (!given.subtopic) return page_of(*command);
  const CLI::App* const sub = find(*command, *given.subtopic);
  if (sub == nullptr)
    refuse(shown(*given.subtopic) + " is no command of " + *given.topic + ": holdfast help " + *given.topic +
           " tells what may be given");
  return page_of(*sub);
}

Command command_of(const CLI::App& app, const Given& given, Words words) {
  const std::string name = full_name(chosen_command(app));
  if (name == "help") return Help{page_of_topic(app, given)};
  return command_from(name, given, std::move(words));
}

// CLI11's own complaints, in ours.
Error not_expected(const CLI::App& app) {
  const Words words = app.remaining(true);
  const std::string command = full_name(chosen_command(app));
  const std::string word = words.empty() ? "" : words.front();
  const bool option = word.size() > 1 && word[0] == '-';
  const char* const what = option              ? " is no option here"
                           : command.empty()   ? " is no command"
                           : command == "jobs" ? " is no command of jobs"
                                               : " is one word too many";
  return {Errc::invalid, shown(word) + what + ": holdfast help" + (command.empty() ? "" : " " + command) +
                             " tells what may be given"};
}

}  // namespace

Result<CommandLine> parse_command_line(std::span<char* const> argv) {
  Given given;
  CLI::App app("", "holdfast");
  build_options(app, given);
  try {
    Split words = split(app, Words(argv.begin() + (argv.empty() ? 0 : 1), argv.end()));
    app.parse(Words(words.ours.rbegin(), words.ours.rend()));  // CLI11 takes them from the end
    Command command = command_of(app, given, std::move(words.words));
    if (given.store && given.store->empty())
      refuse("--store is empty: give the URL of a store, as sqlite:PATH");
    return CommandLine{{given.store.value_or(""), given.json}, std::move(command)};
  } catch (const CLI::CallForHelp&) {
    return CommandLine{{}, Help{page_of(chosen_command(app))}};
  } catch (const CLI::ExtrasError&) {
    return not_expected(app);
  } catch (const CLI::ParseError& e) {
    return Error{Errc::invalid, printable(redacted(e.what()))};  // it quotes what was given
  } catch (const Failure& failure) {
    return failure.error();
  }
}

}  // namespace holdfast::cli
