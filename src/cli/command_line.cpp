// SPDX-License-Identifier: Apache-2.0
#include "cli/command_line.h"

#include <CLI/CLI.hpp>

#include "base/text.h"
#include "base/url.h"
#include "cli/given.h"
#include "cli/help.h"

namespace holdfast::cli {
namespace {

// ---- the table of options, in the words of CLI11

void text(CLI::App& app, const char* names, const char* value, Text& into, const char* does) {
  app.add_option_function<std::string>(
         names, [&into](const std::string& given) { into = given; }, does)
      ->option_text(value)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
}

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
  return help_text(app.get_name(), lines);
}

CLI::App& add_command(CLI::App& app, const char* name) {
  return *app.add_subcommand(name, std::string(purpose_of(name)));
}

void waiting_options(CLI::App& command, Given& given) {
  command.add_flag("-n,--nonblock", given.no_wait, "do not wait for a busy key");
  text(command, "-w,--wait", "DURATION", given.wait, "wait no longer than this");
  text(command, "--ttl", "DURATION", given.ttl, "the lease lasts so long without a renewal (30s)");
  text(command, "--owner", "OWNER", given.owner,
       "hold it under this name; all who use the name are one holder");
  text(command, "--note", "TEXT", given.note, "shown to people beside the key");
}

void build(CLI::App& app, Given& given) {
  app.set_help_flag("-h,--help", "this page");
  app.require_subcommand(0, 1);
  app.fallthrough();
  app.add_flag("--version", given.version, "which Holdfast this is");
  text(app, "--store", "URL", given.store, "the database, as sqlite:PATH; @FILE: its URL stands in FILE");
  app.add_flag("--json", given.json, "answer with one JSON object per line");

  CLI::App& run = add_command(app, "run");
  waiting_options(run, given);
  text(run, "-E,--conflict-exit-code", "CODE", given.busy_code,
       "exit so if the key stays busy (75); 0: and say nothing");
  text(run, "KEY", "", given.key, "");

  CLI::App& acquire = add_command(app, "acquire");
  waiting_options(acquire, given);
  text(acquire, "KEY", "", given.key, "");

  CLI::App& renew = add_command(app, "renew");
  text(renew, "--owner", "OWNER", given.owner, "who holds it");
  text(renew, "--ttl", "DURATION", given.ttl,
       "from now on it lasts at least so long (30s); never shorter than before");
  text(renew, "--by", "DURATION", given.by, "add this to what it has left, instead");
  text(renew, "KEY", "", given.key, "");

  CLI::App& release = add_command(app, "release");
  text(release, "--owner", "OWNER", given.owner, "who holds it");
  text(release, "KEY", "", given.key, "");

  text(add_command(app, "show"), "KEY", "", given.key, "");
  CLI::App& ls = add_command(app, "ls");
  text(ls, "--prefix", "PREFIX", given.prefix_option,
       "only keys that start so; the same as a word behind ls");
  ls.add_flag("--held", given.held, "only what somebody holds, not what is free and waited for");
  text(ls, "--sort", "ORDER", given.sort,
       "key, since (held longest first), remaining (ends soonest first) or waiting (most first)");
  text(ls, "PREFIX", "", given.prefix, "");

  CLI::App& wait = add_command(app, "wait");
  wait.add_flag("-n,--nonblock", given.no_wait, "do not wait: only say by the exit code whether it is free");
  text(wait, "-w,--wait", "DURATION", given.wait, "wait no longer than this");
  text(wait, "KEY", "", given.key, "");

  CLI::App& breaking = add_command(app, "break");
  text(breaking, "--token", "TOKEN", given.token, "of the lease to break, as holdfast show tells it");
  text(breaking, "--reason", "TEXT", given.reason, "why; written down, and told to whoever holds it");
  text(breaking, "KEY", "", given.key, "");

  text(add_command(app, "purge"), "--older-than", "DURATION", given.older_than,
       "keys free for longer, and what was written down longer ago (keys: 1d, log: stays)");
  add_command(app, "init").add_flag("--dry-run", given.dry_run, "print what would be done, and do nothing");
  add_command(app, "version");
  text(add_command(app, "help"), "COMMAND", "", given.topic, "");
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
    while (!at_end() && words_[next_].size() > 1 && words_[next_][0] == '-' && !at("--")) {
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

 private:
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
};

void append(Words& to, const Words& words) { to.insert(to.end(), words.begin(), words.end()); }

struct Split {
  Words ours;
  Words cmd;  // of `run`: CMD and its arguments
};

Split split(const CLI::App& app, const Words& words) {
  Scan scan(app, words);
  Split out{scan.options(app), {}};
  const CLI::App* const command = scan.at_end() ? nullptr : find(app, out.ours.emplace_back(scan.take()));
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
  out.cmd = scan.rest();
  append(out.ours, {"--", key});
  return out;
}

// ---- the rest

std::string chosen_command(const CLI::App& app) {
  const auto chosen = app.get_subcommands();
  return chosen.empty() ? "" : chosen.front()->get_name();
}

std::string page_of_topic(const CLI::App& app, const std::string& topic) {
  const CLI::App* const command = find(app, topic);
  if (command == nullptr) refuse(shown(topic) + " is no command: holdfast help lists them");
  return page_of(*command);
}

Command command_of(const CLI::App& app, const Given& given, Words cmd) {
  const std::string name = chosen_command(app);
  if (name == "help") return Help{given.topic ? page_of_topic(app, *given.topic) : page_of(app)};
  return command_from(name, given, std::move(cmd));
}

// CLI11's own complaints, in ours.
Error not_expected(const CLI::App& app) {
  const Words words = app.remaining(true);
  const std::string command = chosen_command(app);
  const std::string word = words.empty() ? "" : words.front();
  const bool option = word.size() > 1 && word[0] == '-';
  const char* const what = option            ? " is no option here"
                           : command.empty() ? " is no command"
                                             : " is one word too many";
  return {Errc::invalid, shown(word) + what + ": holdfast help" + (command.empty() ? "" : " " + command) +
                             " tells what may be given"};
}

}  // namespace

Result<CommandLine> parse_command_line(std::span<char* const> argv) {
  Given given;
  CLI::App app("", "holdfast");
  build(app, given);
  try {
    Split words = split(app, Words(argv.begin() + (argv.empty() ? 0 : 1), argv.end()));
    app.parse(Words(words.ours.rbegin(), words.ours.rend()));  // CLI11 takes them from the end
    Command command = command_of(app, given, std::move(words.cmd));
    if (given.store && given.store->empty())
      refuse("--store is empty: give the URL of a store, as sqlite:PATH");
    return CommandLine{{given.store.value_or(""), given.json}, std::move(command)};
  } catch (const CLI::CallForHelp&) {
    const std::string name = chosen_command(app);
    return CommandLine{{}, Help{name.empty() ? page_of(app) : page_of_topic(app, name)}};
  } catch (const CLI::ExtrasError&) {
    return not_expected(app);
  } catch (const CLI::ParseError& e) {
    return Error{Errc::invalid, printable(redacted(e.what()))};  // it quotes what was given
  } catch (const Failure& failure) {
    return failure.error();
  }
}

}  // namespace holdfast::cli
