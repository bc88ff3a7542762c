// SPDX-License-Identifier: Apache-2.0
// complete.cpp - `holdfast __complete`: what shells ask when somebody presses TAB.
//
// The words of the line come on stdin, each with a NUL behind it: on the command line, everybody could read a
// password that stands in --store.  The first line of the answer says what follows:
//
//   words        each line is a word, a tab, and what it does
//   files LEAD   names of files, behind LEAD
//   command N    what completes the line of CMD, which is word N
#include "cli/words/complete.h"

#include <cstdio>

#include "cli/commands.h"
#include "cli/open_store.h"
#include "cli/output.h"
#include "cli/see/store_poller.h"
#include "cli/setup/store_url.h"
#include "holdfast/spi/descriptor.h"

namespace holdfast::cli {
namespace {

// ---- what stands at the cursor

std::vector<Offer> offers_of(const Words& words, const std::string& lead) {
  std::vector<Offer> offers;
  for (const std::string& word : words) offers.push_back({lead + word});
  return offers;
}

std::vector<Offer> commands_offered(const CommandSpec& group) {
  std::vector<Offer> offers;
  for (const CommandSpec* const command : commands_below(group))
    offers.push_back({std::string(last_word(*command)), std::string(command->purpose)});
  return offers;
}

// How the URLs of stores begin; behind a file's, and behind @, is a path.
Completion store_completion(const std::string& lead, const std::string& value) {
  Words beginnings{"@"};
  for (const StoreDescriptor& store : store_descriptors()) {
    if (store.place == StorePlace::process) continue;
    const bool is_file = store.place == StorePlace::file;
    beginnings.push_back(std::string(store.schemes.front()) + (is_file ? ":" : "://"));
  }
  for (const std::string& beginning : beginnings) {
    if (!beginning.ends_with('/') && value.starts_with(beginning))
      return {.kind = Completion::Kind::files, .lead = lead + beginning};
  }
  return {.offers = offers_of(beginnings, lead)};
}

// What may stand where the usage has that name.
Completion completion_of_name(std::string_view name, const std::string& lead, const std::string& value) {
  if (name == "KEY" || name == "PREFIX" || name == "KEY|JOB") return {Completion::Kind::keys, lead};
  if (name == "FILE" || name == "PROGRAM") return {Completion::Kind::files, lead};
  if (name == "URL") return store_completion(lead, value);
  return {};
}

Completion completion_of_value(const OptionSpec& option, const std::string& lead, const std::string& value) {
  if (option.choices != nullptr) return {.offers = offers_of(option.choices(), lead)};
  return completion_of_name(option.value, lead, value);
}

// The line up to the cursor.
class TypedLine {
 public:
  explicit TypedLine(const Words& line) : line_(line) {}

  Completion complete() {
    Completion completion = line_.empty() ? Completion() : find();
    completion.store = store_;
    return completion;
  }

 private:
  Completion find() {
    const std::string& current = line_.back();
    for (std::size_t i = 0; i + 1 < line_.size(); ++i) {
      const std::string& word = line_[i];
      if (const OptionSpec* const option = valued(word)) {
        if (++i + 1 == line_.size()) return completion_of_value(*option, "", current);
        if (word == "--store") store_ = line_[i];
      } else if (!read(word)) {
        return {.kind = Completion::Kind::command, .cmd = i};
      }
    }
    return at(current);
  }

  // The option, if the next word is its value.
  const OptionSpec* valued(const std::string& word) const {
    const OptionSpec* option = options_ended_ ? nullptr : find_option(*command_, word);
    if (option == nullptr && !options_ended_) option = find_option(commands::program, word);
    return option != nullptr && !option->value.empty() ? option : nullptr;
  }

  // Goes on behind a word.  False: it is CMD.
  bool read(const std::string& word) {
    const CommandSpec* const below = find_below(*command_, word);
    if (!options_ended_ && word == "--")
      options_ended_ = true;
    else if (!options_ended_ && word.starts_with("--store="))
      store_ = word.substr(word.find('=') + 1);
    else if (!options_ended_ && word.size() > 1 && word[0] == '-')
      return true;
    else if (below != nullptr)
      command_ = below;
    else if (next_argument() == "CMD")
      return false;
    else
      words_.push_back(word);
    return true;
  }

  std::string next_argument() const {
    const std::vector<Argument> arguments = arguments_of(*command_);
    return words_.size() < arguments.size() ? arguments[words_.size()].name : "";
  }

  Completion at(const std::string& current) const {
    const std::size_t equals = current.find('=');
    if (!options_ended_ && current.starts_with("--") && equals != std::string::npos) {
      const OptionSpec* const option = valued(current.substr(0, equals));
      if (option == nullptr) return {};
      return completion_of_value(*option, current.substr(0, equals + 1), current.substr(equals + 1));
    }
    if (!options_ended_ && current.starts_with('-')) return options();
    if (!commands_below(*command_).empty())
      return {.offers = words_.empty() ? commands_offered(*command_) : std::vector<Offer>()};
    return argument(next_argument(), current);
  }

  Completion options() const {
    Completion completion;
    for (const OptionSpec* const option : usable_options(*command_)) {
      for (const std::string& name : names_of(*option)) completion.offers.push_back({name, does_of(*option)});
    }
    return completion;
  }

  Completion argument(const std::string& name, const std::string& current) const {
    if (name == "CMD") return {.kind = Completion::Kind::command, .cmd = line_.size() - 1};
    if (name == "COMMAND") return {.offers = commands_offered(commands::program)};
    if (name == "SUBCOMMAND") {
      const CommandSpec* const group = find_below(commands::program, words_.front());
      return {.offers = group == nullptr ? std::vector<Offer>() : commands_offered(*group)};
    }
    if (name == "bash|zsh|fish") return {.offers = {{"bash"}, {"zsh"}, {"fish"}}};
    return completion_of_name(name, "", current);
  }

  const Words& line_;
  const CommandSpec* command_ = &commands::program;
  Words words_;  // behind the command
  bool options_ended_ = false;
  std::string store_;
};

// ---- keys

// Needs no quotes, so that nothing that somebody else has called a key is ever taken for a command.
bool is_harmless(const std::string& key) {
  const std::string harmless = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./:@%+,#-";
  constexpr std::string_view not_at_first = ":@%+,#-";
  return !key.empty() && key.find_first_not_of(harmless) == std::string::npos &&
         not_at_first.find(key.front()) == std::string_view::npos;
}

// Errors are nobody's business here.  Not for a store whose name the shell would have changed first.
std::vector<Offer> keys_offered(const Completion& completion, const Common& common) {
  if (completion.store.find_first_of("$`\"'\\~") != std::string::npos) return {};
  const Configuration configuration = read_configuration(configuration_paths()).value();
  const StoreChoice choice =
      choose_store(store_word(completion.store, common.inherited, configuration), configuration).value();
  auto found = find_store_quietly({.store = url_of(choice).value()}).value();
  if (found.unused) return {};
  std::vector<Offer> offers;
  for (const LeaseRow& row : all_leases(found.by_hand, "").value()) {
    const bool is_used = row.remaining > Millis::zero() || row.waiting > 0;
    if (is_used && is_harmless(row.key)) offers.push_back({completion.lead + row.key});
  }
  return offers;
}

// ---- the command

struct Complete {
  Words line;
};

Complete complete_of(const Given&) {
  std::string text;
  char part[4096];
  while (const std::size_t size = std::fread(part, 1, sizeof(part), stdin)) text.append(part, size);
  Complete command;
  for (std::size_t at = 0, end; (end = text.find('\0', at)) != std::string::npos; at = end + 1)
    command.line.push_back(text.substr(at, end - at));
  return command;
}

int execute(const Complete& command, const Common& common) {
  Completion completion = completion_of(command.line);
  switch (completion.kind) {
    case Completion::Kind::files: print("files " + completion.lead); return exit_ok;
    case Completion::Kind::command: print("command " + std::to_string(completion.cmd)); return exit_ok;
    case Completion::Kind::keys: completion.offers = keys_offered(completion, common); break;
    case Completion::Kind::words: break;
  }
  print("words");
  for (const Offer& offer : completion.offers) print(offer.word + "\t" + offer.does);
  return exit_ok;
}

}  // namespace

Completion completion_of(const Words& line) { return TypedLine(line).complete(); }

constinit const CommandSpec commands::complete{
    .name = "__complete",
    .usage = "",
    .purpose = "Answer a shell that completes a line",
    .more = "",
    .read = reads<complete_of>,
    .store = StoreUse::none,
    .hidden = true,
};

}  // namespace holdfast::cli
