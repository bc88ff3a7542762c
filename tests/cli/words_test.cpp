// SPDX-License-Identifier: Apache-2.0
// Suggestions for mistyped words, the help pages, and the option table.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <sstream>

#include "cli/words/choices.h"
#include "cli/words/completions.h"
#include "cli/words/given.h"
#include "cli/words/help.h"
#include "cli/words/nearest.h"
#include "cli/words/option_table.h"
#include "tests/cli/parse.h"

namespace holdfast::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

Table whole_table() {
  Given given;
  CLI::App app("", "holdfast");
  build_options(app, given);
  return table_of(app);
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
  for (const std::string& sort : choices_of("--sort")) EXPECT_TRUE(parse({"ls", "--sort", sort})) << sort;
  for (const std::string& what : choices_of("--on-lost"))
    EXPECT_TRUE(parse({"run", "--on-lost", what == "exec:" ? "exec:program" : what, "k", "true"})) << what;
  for (const char* const option : {"--unique", "--on-conflict"}) {
    for (const std::string& word : choices_of(option))
      EXPECT_TRUE(parse({"jobs", "enqueue", "X", option, word})) << word;
  }
  for (const std::string& state : choices_of("--state"))
    EXPECT_TRUE(parse({"jobs", "ls", "--state", state})) << state;
  for (const std::string& shell : choices_of("SHELL")) EXPECT_TRUE(parse({"completions", shell})) << shell;
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

Words words_of(const std::string& text) {
  std::istringstream stream(text);
  return {std::istream_iterator<std::string>(stream), {}};
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
std::ptrdiff_t most_lines(const std::string& command) {
  const bool long_one =
      command.empty() || command == "run" || command == "jobs enqueue" || command == "jobs work";
  return long_one ? 40 : 24;
}

TEST(Pages, each_fits_a_screen_and_has_two_examples_that_are_understood) {
  for (const CommandEntry& command : whole_table()) {
    SCOPED_TRACE(command.name);
    Words asked = words_of(command.name);
    asked.insert(asked.begin(), "help");
    const auto page = parse(asked);
    ASSERT_TRUE(page) << page.error().detail;
    const Words lines = lines_of(std::get<Help>(page->command).text);
    EXPECT_LE(static_cast<std::ptrdiff_t>(lines.size()), most_lines(command.name));
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
  for (const CommandEntry& command : whole_table()) {
    if (command.name.empty()) continue;
    SCOPED_TRACE(command.name);
    ++commands;
    Words by_word = words_of(command.name), by_option = by_word, list = by_word;
    by_word.insert(by_word.begin(), "help");
    by_option.emplace_back("--help");
    list.back() = "--help";  // of the program, or of what it is below
    const auto page = parse(by_word), same = parse(by_option), above = parse(list);
    ASSERT_TRUE(page && same && above);
    EXPECT_THAT(std::get<Help>(page->command).text, HasSubstr("usage: holdfast " + command.name));
    EXPECT_EQ(std::get<Help>(page->command).text, std::get<Help>(same->command).text);
    EXPECT_THAT(std::get<Help>(above->command).text, HasSubstr("\n  " + by_word.back() + " "));
  }
  EXPECT_GE(commands, 20U);
}

TEST(Pages, what_does_nothing_for_a_command_is_not_offered) {
  const auto page = [](const char* command) {
    return std::get<Help>(parse({command, "--help"})->command).text;
  };
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
  const std::string page = std::get<Help>(parse({"help", "run"})->command).text;
  for (const char* const name : {"HOLDFAST_KEY", "_TOKEN", "_OWNER", "_DEADLINE", "_STORE"})
    EXPECT_THAT(page, HasSubstr(name));
}

TEST(Pages, each_is_for_man_too) {
  const Table table = whole_table();
  for (const CommandEntry& command : table) {
    const std::string page = man_page(table, command);
    for (const char* const section :
         {".TH HOLDFAST", ".SH NAME", ".SH SYNOPSIS", ".SH DESCRIPTION", ".SH OPTIONS", ".SH EXAMPLES"})
      EXPECT_THAT(page, HasSubstr(section)) << command.name;
    for (const OptionEntry& option : command.options) {
      if (option.names.back() == "--version" || option.names.back() == "--verbose") continue;
      std::string name = option.names.back();
      EXPECT_THAT(page, HasSubstr("\\fB" + replaced(std::move(name), "-", "\\-") + "\\fR")) << command.name;
    }
  }
}

// ---- shell completions

TEST(Completions, an_option_takes_a_value_for_every_command_or_for_none) {
  const Table table = whole_table();
  const Words valued = valued_names(table);
  for (const CommandEntry& command : table) {
    for (const OptionEntry& option : command.options) {
      for (const std::string& name : option.names)
        EXPECT_EQ(std::find(valued.begin(), valued.end(), name) != valued.end(), !option.value.empty())
            << name;
    }
  }
}

TEST(Completions, the_words_of_a_command_are_those_of_its_usage) {
  const Table table = whole_table();
  const auto names = [&](const char* command) {
    Words found;
    for (const Completion& argument : arguments_of(table, entry_of(table, command)))
      found.push_back(argument.name);
    return found;
  };
  EXPECT_THAT(names("run"), ElementsAre("KEY", "CMD"));
  EXPECT_THAT(names("fence"), ElementsAre("FILE", "TOKEN", "CMD"));
  EXPECT_THAT(names("break"), ElementsAre("KEY"));
  EXPECT_THAT(names("ls"), ElementsAre("PREFIX"));
  EXPECT_THAT(names("jobs locked"), ElementsAre("NAME", "ARG"));
  EXPECT_THAT(names("completions"), ElementsAre("SHELL"));
  EXPECT_THAT(names("jobs"), ElementsAre());
}

}  // namespace
}  // namespace holdfast::cli
