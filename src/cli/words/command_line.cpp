// SPDX-License-Identifier: Apache-2.0
#include "cli/words/command_line.h"

#include <CLI/CLI.hpp>

#include "base/text.h"
#include "base/url.h"
#include "cli/words/choices.h"
#include "cli/words/completions.h"
#include "cli/words/given.h"
#include "cli/words/help.h"
#include "cli/words/nearest.h"
#include "cli/words/option_table.h"
#include "cli/words/table.h"
#include "holdfast/spi/descriptor.h"

namespace holdfast::cli {
namespace {

const CLI::App* find(const CLI::App& app, const std::string& command) {
  for (const CLI::App* candidate : app.get_subcommands({})) {
    if (candidate->get_name() == command) return candidate;
  }
  return nullptr;
}

// ---- where CMD begins

// The number of our words before CMD; 0: the command has no CMD.
std::size_t words_before_cmd(const CLI::App* command) {
  if (command == nullptr) return 0;
  return command->get_name() == "run" ? 1 : command->get_name() == "fence" ? 2 : 0;
}

// Reads the words once, with CLI11's table of options, and finds where CMD begins.  CLI11 itself would search
// for our options among CMD's arguments, so it gets only the words before CMD.
class Scan {
 public:
  Scan(const CLI::App& app, const Words& words) : app_(app), words_(words) {}

  bool at_end() const { return next_ == words_.size(); }
  bool at(std::string_view word) const { return !at_end() && words_[next_] == word; }
  const std::string& take() { return words_[next_++]; }
  Words rest() const { return {words_.begin() + static_cast<std::ptrdiff_t>(next_), words_.end()}; }

  // Takes the options at this place, with their values.
  Words options(const CLI::App& command) {
    Words out;
    while (at_option() && !(numbers_are_words_ && is_number(words_[next_]))) {
      const std::string& word = take();
      // CLI11 would take it as KEY, and then report CMD as an extra word.
      if (words_before_cmd(&command) > 0 && is_number(word))
        refuse("unknown option " + shown(word) + " for " + command.get_name() +
               "; put -- before a word that begins with -, or see `holdfast help " + command.get_name() +
               "`");
      const std::size_t equals = word.find('=');
      if (equals != std::string::npos && takes_value(command, word.substr(0, equals))) {
        // As two words, because for "--note=" CLI11 would take the next word as the value.
        out.insert(out.end(), {word.substr(0, equals), word.substr(equals + 1)});
        continue;
      }
      out.push_back(word);
      if (!wants_next_word(command, word)) continue;
      if (at_end()) refuse(shown(word) + " needs a value; give it as the next word");
      out.push_back(take());
    }
    return out;
  }

  // From now on "-5" is a word, not an option.
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
    if (option == nullptr) option = app_.get_option_no_throw(name);  // global
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
  Words words;  // `run`, `fence`: CMD and its arguments; `jobs …`, `explain`: all words that are not options
};

// Options go to CLI11.  The other words are not parsed, whatever they look like.
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
  const std::size_t leading = words_before_cmd(command);
  if (leading == 0) {
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
  Words before;
  while (before.size() < leading && !scan.at_end() && (options_ended || !scan.at("--"))) {
    before.push_back(scan.take());
    if (!options_ended) append(out.ours, scan.options(*command));
  }
  if (scan.at("--")) scan.take();
  out.words = scan.rest();
  if (before.empty()) return out;
  out.ours.emplace_back("--");
  append(out.ours, before);
  return out;
}

// ---- the rest

// The innermost command; the program itself if there is none.
const CLI::App& chosen_command(const CLI::App& app) {
  const auto chosen = app.get_subcommands();
  return chosen.empty() ? app : chosen_command(*chosen.front());
}

std::vector<std::string> commands_of(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands({})) names.push_back(command->get_name());
  return names;
}

// For a word that is not a command.
std::string suggested_command(const std::string& word, const CLI::App& above) {
  const std::vector<std::string> known = commands_of(above);
  const std::string meant = synonym(word, known);
  return meant.empty() ? suggestion(word, known) : suggestion_of(meant);
}

const CLI::App& topic_of(const CLI::App& app, const Given& given) {
  if (!given.topic) return app;
  const CLI::App* const command = find(app, *given.topic);
  if (command == nullptr)
    refuse("unknown command " + shown(*given.topic) + suggested_command(*given.topic, app) +
           "see `holdfast help`");
  if (!given.subtopic) return *command;
  const CLI::App* const sub = find(*command, *given.subtopic);
  if (sub == nullptr)
    refuse("unknown command " + shown(*given.subtopic) + " of " + *given.topic +
           suggested_command(*given.subtopic, *command) + "see `holdfast help " + *given.topic + "`");
  return *sub;
}

std::string page_of(const CLI::App& root, const CLI::App& app, bool man) {
  const Table table = table_of(root);
  const std::string name = full_name(app);
  const CommandEntry& entry = entry_of(table, name);
  return man ? man_page(table, entry) : help_text(table, entry);
}

std::string shell_script(const CLI::App& app, const Given& given) {
  const std::vector<std::string> shells = choices_of("SHELL");
  if (!given.shell) refuse("SHELL is missing; give " + one_of_these(shells));
  if (auto script = completions(*given.shell, table_of(app))) return *std::move(script);
  refuse("unknown shell " + shown(*given.shell) + suggestion(*given.shell, shells) + "give " +
         one_of_these(shells));
}

Command command_of(const CLI::App& app, Given& given, const FillIn& substitute, Words words) {
  const std::string name = full_name(chosen_command(app));
  if (given.verbose && name != "version" && !given.version)
    refuse("--verbose is only for version; run `holdfast version --verbose`");
  if (name == "fence" && !given.stores.empty() && !given.version)
    refuse("--store is not for fence, which uses no store; leave it out");
  if (name == "help") return Help{page_of(app, topic_of(app, given), given.man)};
  if (name == "completions") return Help{shell_script(app, given)};
  if (substitute && !given.version && (name == "run" || name == "acquire")) substitute(name, given);
  return command_from(name, given, std::move(words));
}

// The options that may follow the command.
std::vector<std::string> option_names(const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::App* level = &command; level != nullptr; level = level->get_parent()) {
    for (const CLI::Option* option : level->get_options()) {
      for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
    }
  }
  return names;
}

// The error for a word that CLI11 did not expect.
Error not_expected(const CLI::App& app) {
  const Words words = app.remaining(true);
  const CLI::App& command = chosen_command(app);
  const std::string name = full_name(command);
  const std::string word = words.empty() ? "" : words.front();
  const std::string page = "see `holdfast help" + (name.empty() ? "" : " " + name) + "`";
  if (word.size() > 1 && word[0] == '-') {
    // The name in "--tll=5s", and the one in "-k5s".
    const std::string option = word.substr(0, word.find('='));
    const std::string meant = option_synonym(word[1] == '-' ? option : word.substr(0, 2), name);
    return {Errc::invalid,
            "unknown option " + shown(word) + (name.empty() ? "" : " for " + name) +
                (meant.empty() ? suggestion(option, option_names(command)) : suggestion_of(meant)) + page};
  }
  if (commands_of(command).empty())
    return {Errc::invalid, "unexpected argument " + shown(word) + "; " + page};
  return {Errc::invalid, "unknown command " + shown(word) + (name.empty() ? "" : " of " + name) +
                             suggested_command(word, command) + page};
}

}  // namespace

Result<CommandLine> parse_command_line(std::span<char* const> argv, const FillIn& substitute) {
  Given given;
  CLI::App app("", "holdfast");
  const Words words_given(argv.begin() + (argv.empty() ? 0 : 1), argv.end());
  build_options(app, given, words_given.empty() ? std::string_view() : words_given.front());
  try {
    Split words = split(app, words_given);
    app.parse(Words(words.ours.rbegin(), words.ours.rend()));  // CLI11 takes them from the end
    Command command = command_of(app, given, substitute, std::move(words.words));
    const std::string store = given.stores.empty() ? "" : given.stores.back();
    if (!given.stores.empty() && store.empty())
      refuse("--store is empty; give the URL of a store, as " + std::string(default_store().url));
    return CommandLine{{store, given.json, given.quiet}, std::move(command), std::move(given.stores)};
  } catch (const CLI::CallForHelp&) {
    return CommandLine{{}, Help{page_of(app, chosen_command(app), false)}};
  } catch (const CLI::ExtrasError&) {
    return not_expected(app);
  } catch (const CLI::ParseError& e) {
    return Error{Errc::invalid, printable(redacted(e.what()))};  // it quotes the input
  } catch (const Failure& failure) {
    return failure.error();
  }
}

}  // namespace holdfast::cli
