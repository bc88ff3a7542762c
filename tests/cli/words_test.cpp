// SPDX-License-Identifier: Apache-2.0
// Suggestions for mistyped words, the pages, and what shells are offered.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <sstream>

#include "cli/commands.h"
#include "cli/words/complete.h"
#include "cli/words/nearest.h"
#include "cli/words/pages.h"
#include "tests/cli/parse.h"

namespace holdfast::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

// With the program itself.
std::vector<const CommandSpec*> shown_commands() {
  std::vector<const CommandSpec*> all(std::begin(all_commands), std::end(all_commands));
  std::erase_if(all, [](const CommandSpec* command) { return command->hidden; });
  return all;
}

Words words_of(const std::string& text) {
  std::istringstream stream(text);
  return {std::istream_iterator<std::string>(stream), {}};
}

// ---- the nearest word

TEST(Nearest, a_letter_left_out_added_mistaken_or_swapped_counts_once) {
  struct {
    const char *a, *b;
    std::size_t away;
  } const rows[] = {
      {"", "", 0},       {"", "run", 3},    {"run", "run", 0}, {"rn", "run", 1},        {"ruun", "run", 1},
      {"ran", "run", 1}, {"rnu", "run", 1}, {"urn", "run", 1}, {"release", "renew", 4}, {"ca", "abc", 3}};
  for (const auto& row : rows) {
    EXPECT_EQ(distance(row.a, row.b), row.away) << row.a << " " << row.b;
    EXPECT_EQ(distance(row.b, row.a), row.away) << row.b << " " << row.a;
  }
}

TEST(Nearest, a_third_of_the_letters_may_be_wrong) {
  const Words known{"run", "renew", "release", "ls", "completions"};
  EXPECT_EQ(nearest("rnu", known), "run");
  EXPECT_EQ(nearest("sl", known), "ls");
  EXPECT_EQ(nearest("relaese", known), "release");
  EXPECT_EQ(nearest("complitons", known), "completions");
  for (const char* const far : {"", "x", "frobnicate", "rrrr", "lessen"})
    EXPECT_EQ(nearest(far, known), "") << far;
  EXPECT_EQ(nearest(std::string(1'000'000, 'r'), known), "");
  EXPECT_EQ(nearest("bat", {"cat", "hat"}), "cat") << "among equals the first";
  EXPECT_EQ(nearest("hat", {"cat", "hat"}), "hat");
}

TEST(Nearest, near_words_get_a_suggestion_and_far_ones_do_not) {
  struct {
    Words words;
    const char* sentence;
  } const rows[] = {
      {{"rnu", "k", "--", "true"}, "unknown command \"rnu\"; did you mean run? see `holdfast help`"},
      {{"frobnicate"}, "unknown command \"frobnicate\"; see `holdfast help`"},
      {{"jobs ls"}, "unknown command \"jobs ls\""},
      {{""}, "unknown command \"\"; "},
      {{"run", "--tll", "5s", "k", "true"},
       "unknown option \"--tll\" for run; did you mean --ttl? see `holdfast help run`"},
      {{"run", "--tll=5s", "k", "true"}, "did you mean --ttl? "},
      {{"--jsno", "ls"}, "did you mean --json? "},
      {{"show", "--ttl", "k"}, "unknown option \"--ttl\" for show; see `holdfast help show`"},
      {{"RUN", "k", "true"}, "unknown command \"RUN\"; did you mean run? "},
      {{"run", "--TTL", "5s", "k", "true"}, "did you mean --ttl? "},
      {{"list"}, "unknown command \"list\"; did you mean ls? see `holdfast help`"},
      {{"Status", "k"}, "did you mean show? "},
      {{"inspect", "k"}, "did you mean show? "},
      {{"lock", "k"}, "did you mean acquire? "},
      {{"unlock", "k"}, "did you mean release? "},
      {{"steal", "k"}, "did you mean break? "},
      {{"exec", "k", "true"}, "did you mean run? "},
      {{"jobs", "list"}, "unknown command \"list\" of jobs; did you mean ls? "},
      {{"jobs", "lock"}, "did you mean locked? "},
      {{"help", "list"}, "did you mean ls? "},
      {{"remove", "k"}, "unknown command \"remove\"; see `holdfast help`"},
      {{"run", "-k", "5s", "k", "true"}, "unknown option \"-k\" for run; did you mean --kill-after? "},
      {{"run", "-k5s", "k", "true"}, "did you mean --kill-after? "},
      {{"run", "-c", "ls -l", "k"}, "unknown option \"-c\" for run; did you mean -- sh -c? "},
      {{"doctor", "--selftest"},
       "unknown option \"--selftest\" for doctor; did you mean doctor without --quick? "},
      {{"jobs", "enqeue", "X"},
       "unknown command \"enqeue\" of jobs; did you mean enqueue? see `holdfast help jobs`"},
      {{"help", "shwo"}, "unknown command \"shwo\"; did you mean show? "},
      {{"help", "jobs", "cancle"}, "unknown command \"cancle\" of jobs; did you mean cancel? "},
      {{"ls", "--sort", "sinse"},
       "is not a sort order; did you mean since? give key, since, remaining or waiting"},
      {{"run", "--on-lost", "trem", "k", "true"},
       "did you mean term? give term, kill, ignore or exec:PROGRAM"},
      {{"jobs", "ls", "--state", "queud"},
       "did you mean queued? give queued, running, done, dead, dropped or cancelled"},
      {{"completions", "fihs"}, "unknown shell \"fihs\"; did you mean fish? give bash, zsh or fish"},
      {{"completions", "powershell"}, "unknown shell \"powershell\"; give bash, zsh or fish"},
      {{"completions"}, "SHELL is missing; give bash, zsh or fish"},
      {{"run", "--verbose", "k", "true"}, "--verbose is only for version; run `holdfast version --verbose`"},
  };
  for (const auto& row : rows) {
    const auto parsed = parse(row.words);
    ASSERT_FALSE(parsed) << ::testing::PrintToString(row.words);
    EXPECT_THAT(parsed.error().detail, HasSubstr(row.sentence));
  }
}

TEST(Choices, each_may_be_given) {
  const std::map<std::string_view, Words> words_of_line = {
      {"run", {"k", "true"}}, {"ls", {}}, {"fence", {}}, {"jobs enqueue", {"X"}}, {"jobs ls", {}}};
  std::size_t tried = 0;
  for (const CommandSpec* const command : shown_commands()) {
    for (const OptionSpec& option : command->options) {
      if (option.choices == nullptr) continue;
      for (const std::string& word : option.choices()) {
        Words line = words_of(std::string(command->name));
        line.insert(line.end(), {names_of(option).back(), word == "exec:" ? "exec:program" : word});
        const Words& rest = words_of_line.at(command->name);
        line.insert(line.end(), rest.begin(), rest.end());
        EXPECT_TRUE(parse(line)) << ::testing::PrintToString(line);
        ++tried;
      }
    }
  }
  EXPECT_GE(tried, 20U);
  for (const char* const shell : {"bash", "zsh", "fish"}) EXPECT_TRUE(parse({"completions", shell})) << shell;
}

// ---- pages

TEST(Layout, lines_are_broken_within_their_column) {
  EXPECT_EQ(wrapped("one two", 0, 0), "one two");
  EXPECT_EQ(wrapped(std::string(60, 'a') + " " + std::string(30, 'b'), 0, 2),
            std::string(60, 'a') + "\n  " + std::string(30, 'b'));
  EXPECT_EQ(wrapped(std::string(79, 'a') + " b", 0, 0), std::string(79, 'a') + "\nb");
  EXPECT_EQ(wrapped(std::string(78, 'a') + " b", 0, 0), std::string(78, 'a') + " b")
      << "80 columns are there";
  EXPECT_EQ(two_columns({{"-n", "short"}, {"--much-longer", "word"}}),
            "  -n             short\n  --much-longer  word\n");
  const std::vector<Paragraph> found = paragraphs_of("a\nb\n\n  x\n  y\n\nc");
  ASSERT_EQ(found.size(), 3U);
  EXPECT_EQ(found[0].text, "a b");
  EXPECT_EQ(found[1].text, "  x\n  y");
  EXPECT_TRUE(found[1].is_example);
  EXPECT_EQ(found[2].text, "c");
}

Words lines_of(const std::string& text) {
  Words lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

// As a shell would, in which HOLDFAST_TOKEN is set, up to where the command ends: at |, >, && or ||.
Words shell_words(const std::string& line) {
  Words words;
  std::string word;
  char quote = 0;
  for (const char letter : replaced(line, "$HOLDFAST_TOKEN", "7") + " ") {
    if (quote != 0 ? letter == quote : letter == '"' || letter == '\'') {
      quote = quote != 0 ? '\0' : letter;
    } else if (quote == 0 && letter == ' ') {
      if (word == "|" || word == "||" || word == "&&" || word == ">") return words;
      if (!word.empty()) words.push_back(std::exchange(word, ""));
    } else {
      word += letter;
    }
  }
  return words;
}

// What has a dozen options does not fit the smallest of screens.
std::ptrdiff_t most_lines(std::string_view command) {
  const bool long_one = command == "run" || command == "jobs enqueue" || command == "jobs work";
  // The program's page has a line for each command, and the rest of it fits the smallest of screens.
  if (command.empty()) return 24 + std::ssize(commands_below(commands::program));
  return long_one ? 40 : 24;
}

TEST(Pages, each_fits_a_screen_and_has_two_examples_that_are_understood) {
  for (const CommandSpec* const command : shown_commands()) {
    SCOPED_TRACE(command->name);
    Words asked = words_of(std::string(command->name));
    asked.insert(asked.begin(), "help");
    const Words lines = lines_of(printed(parse(asked)));
    EXPECT_LE(static_cast<std::ptrdiff_t>(lines.size()), most_lines(command->name));
    int examples = 0;
    for (const std::string& line : lines) {
      EXPECT_LE(line.size(), screen_width) << line;
      if (!line.starts_with("  holdfast ")) continue;
      ++examples;
      Words words = shell_words(line);
      words.erase(words.begin());
      const auto understood = parse(words);
      EXPECT_TRUE(understood) << line << "\n" << understood.error().detail;
    }
    EXPECT_GE(examples, 2);
  }
}

TEST(Pages, every_command_has_one_and_is_listed) {
  std::size_t commands = 0;
  for (const CommandSpec* const command : shown_commands()) {
    if (command->name.empty()) continue;
    SCOPED_TRACE(command->name);
    ++commands;
    const std::string name(command->name);
    Words by_word = words_of(name), by_option = by_word, list = by_word;
    by_word.insert(by_word.begin(), "help");
    by_option.emplace_back("--help");
    list.back() = "--help";  // of the program, or of what it is below
    const std::string page = printed(parse(by_word));
    EXPECT_THAT(page, HasSubstr("usage: holdfast " + name));
    EXPECT_EQ(page, printed(parse(by_option)));
    EXPECT_THAT(printed(parse(list)), HasSubstr("\n  " + by_word.back() + " "));
  }
  EXPECT_GE(commands, 20U);
}

TEST(Pages, what_does_nothing_for_a_command_is_not_offered) {
  const auto page = [](const char* command) { return printed(parse({command, "--help"})); };
  for (const char* const silent : {"run", "wait", "fence"})
    EXPECT_THAT(page(silent), Not(HasSubstr("--json"))) << silent;
  EXPECT_THAT(page("fence"), Not(HasSubstr("--store ")));
  EXPECT_THAT(page("run"), HasSubstr("--store "));
  EXPECT_THAT(page("ls"), HasSubstr("--json "));
  EXPECT_TRUE(parse({"--json", "run", "k", "true"})) << "it may be given to all";
  EXPECT_THAT(page("ls"), Not(HasSubstr("--quiet"))) << "it is not told how the store is set up";
  EXPECT_THAT(page("run"), HasSubstr("--quiet "));
  EXPECT_TRUE(parse({"ls", "--quiet"})->common.quiet);
}

TEST(Pages, run_names_all_that_its_command_finds) {
  const std::string page = printed(parse({"help", "run"}));
  for (const char* const name : {"HOLDFAST_KEY", "_TOKEN", "_OWNER", "_DEADLINE", "_STORE"})
    EXPECT_THAT(page, HasSubstr(name));
}

TEST(Pages, each_is_for_man_too) {
  for (const CommandSpec* const command : shown_commands()) {
    const std::string page = man_page(*command);
    for (const char* const section :
         {".TH HOLDFAST", ".SH NAME", ".SH SYNOPSIS", ".SH DESCRIPTION", ".SH OPTIONS", ".SH EXAMPLES"})
      EXPECT_THAT(page, HasSubstr(section)) << command->name;
    for (const OptionSpec& option : command->options) {
      std::string name = names_of(option).back();
      if (command->name.empty() && (name == "--version" || name == "--verbose")) continue;
      EXPECT_THAT(page, HasSubstr("\\fB" + replaced(std::move(name), "-", "\\-") + "\\fR")) << command->name;
    }
  }
}

TEST(Pages, what_only_shells_call_has_none_in_the_list) {
  EXPECT_THAT(printed(parse({"help"})), Not(HasSubstr("__complete")));
  EXPECT_THAT(man_page(commands::program), Not(HasSubstr("complete\\fR")));
  EXPECT_THAT(parse({"__complet"}).error().detail, Not(HasSubstr("did you mean")));
}

// ---- shell completions

TEST(Completions, an_option_takes_a_value_for_every_command_or_for_none) {
  std::map<std::string, bool> takes_value;
  for (const CommandSpec* const command : shown_commands()) {
    for (const OptionSpec& option : command->options) {
      for (const std::string& name : names_of(option))
        EXPECT_EQ(takes_value.emplace(name, !option.value.empty()).first->second, !option.value.empty())
            << name;
    }
  }
}

TEST(Completions, the_words_of_a_command_are_those_of_its_usage) {
  const auto names = [&](const CommandSpec& command) {
    Words found;
    for (const Argument& argument : arguments_of(command)) found.push_back(argument.name);
    return found;
  };
  EXPECT_THAT(names(commands::run), ElementsAre("KEY", "CMD"));
  EXPECT_THAT(names(commands::fence), ElementsAre("FILE", "TOKEN", "CMD"));
  EXPECT_THAT(names(commands::break_lease), ElementsAre("KEY"));
  EXPECT_THAT(names(commands::ls), ElementsAre("PREFIX"));
  EXPECT_THAT(names(commands::jobs_locked), ElementsAre("NAME", "ARG"));
  EXPECT_THAT(names(commands::help), ElementsAre("COMMAND", "SUBCOMMAND"));
  EXPECT_THAT(names(commands::completions), ElementsAre("bash|zsh|fish"));
  EXPECT_THAT(names(commands::jobs), ElementsAre());
}

using Kind = Completion::Kind;

TEST(Completions, what_may_stand_at_the_cursor_depends_on_all_words_before_it) {
  struct {
    Words line;
    Kind kind;
    const char* lead_or_offer;  // words: one of them, or empty if nothing is offered
    std::size_t cmd = 0;
  } const rows[] = {
      {{""}, Kind::words, "run"},
      {{"--json", "j"}, Kind::words, "jobs"},
      {{"frobnicate", ""}, Kind::words, ""},
      {{"jobs", ""}, Kind::words, "enqueue"},
      {{"jobs", "-"}, Kind::words, "--json"},
      {{"run", ""}, Kind::keys, ""},
      {{"run", "-"}, Kind::words, "-w"},
      {{"run", "--", "-"}, Kind::keys, ""},
      {{"run", "-w", ""}, Kind::words, ""},
      {{"run", "-w", "5s", "k", "-n", "t"}, Kind::command, "", 5},
      {{"run", "k", "--", ""}, Kind::command, "", 3},
      {{"run", "k", "cmd", "--ttl", "-"}, Kind::command, "", 2},
      {{"fence", ""}, Kind::files, ""},
      {{"fence", "f", ""}, Kind::words, ""},
      {{"fence", "f", "7", "c", "x"}, Kind::command, "", 3},
      {{"fence", "--code", ""}, Kind::words, "redis"},
      {{"jobs", "work", "--exec", ""}, Kind::files, ""},
      {{"jobs", "ls", "--key", ""}, Kind::keys, ""},
      {{"jobs", "ls", "--key="}, Kind::keys, "--key="},
      {{"jobs", "ls", "--state=q"}, Kind::words, "--state=queued"},
      {{"jobs", "show", ""}, Kind::words, ""},
      {{"show", "--bad=q"}, Kind::words, ""},
      {{"show", "k", ""}, Kind::words, ""},
      {{"explain", ""}, Kind::keys, ""},
      {{"--store", ""}, Kind::words, "@"},
      {{"--store="}, Kind::words, "--store=@"},
      {{"--store", "@f"}, Kind::files, "@"},
      {{"ls", "--store=@f"}, Kind::files, "--store=@"},
      {{"help", ""}, Kind::words, "version"},
      {{"help", "jobs", ""}, Kind::words, "work"},
      {{"help", "show", ""}, Kind::words, ""},
      {{"help", "frobnicate", ""}, Kind::words, ""},
      {{"completions", ""}, Kind::words, "zsh"},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(::testing::PrintToString(row.line));
    const Completion found = completion_of(row.line);
    EXPECT_EQ(found.kind, row.kind);
    EXPECT_EQ(found.cmd, row.cmd);
    if (row.kind != Kind::words) {
      EXPECT_EQ(found.lead, row.lead_or_offer);
      continue;
    }
    Words words;
    for (const Offer& offer : found.offers) words.push_back(offer.word);
    if (*row.lead_or_offer == '\0')
      EXPECT_THAT(words, ElementsAre());
    else
      EXPECT_THAT(words, ::testing::Contains(row.lead_or_offer));
  }
  EXPECT_TRUE(completion_of({}).offers.empty());
}

TEST(Completions, keys_are_those_of_the_store_on_the_line) {
  EXPECT_EQ(completion_of({"show", ""}).store, "");
  EXPECT_EQ(completion_of({"--store", "a", "show", ""}).store, "a");
  EXPECT_EQ(completion_of({"show", "--store=b", ""}).store, "b");
  EXPECT_EQ(completion_of({"jobs", "ls", "--store", "a", "--key", ""}).store, "a");
}

}  // namespace
}  // namespace holdfast::cli
