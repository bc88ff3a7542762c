// SPDX-License-Identifier: Apache-2.0
// What a configuration says, as far as no file and no store is needed for it.
#include "cli/setup/configuration.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/run/run.h"
#include "cli/setup/secrets.h"
#include "cli/words/values.h"
#include "tests/cli/parse.h"

namespace holdfast::cli {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

ConfigFile file_of(const std::string& text, const std::string& path = "/u") {
  auto file = parse_config(text, path);
  EXPECT_TRUE(file) << file.error().detail;
  return file ? *file : ConfigFile{};
}

Configuration configuration_of(const std::string& of_user, const std::string& of_machine) {
  return {{file_of(of_user, "/u"), file_of(of_machine, "/m")}};
}

// ---- who says first

struct Precedence {
  const char* of_user;
  const char* of_machine;
  const char* key;
  const char* setting;
  const char* text;  // empty: nobody says
  const char* from;
};

const Precedence precedences[] = {
    {"", "", "k", "ttl", "", ""},
    {"[defaults]\nttl='1s'", "", "k", "ttl", "1s", "/u:2"},
    {"", "[defaults]\nttl='2s'", "k", "ttl", "2s", "/m:2"},
    {"[defaults]\nttl='1s'", "[defaults]\nttl='2s'", "k", "ttl", "1s", "/u:2"},
    // The file counts before the length of the prefix.
    {"[defaults]\nttl='1s'", "[keys.k]\nttl='2s'", "k", "ttl", "1s", "/u:2"},
    {"[keys.k]\nttl='1s'", "[keys.key]\nttl='2s'", "key", "ttl", "1s", "/u:2"},
    // The longest prefix, in whichever order they stand.
    {"[keys.a]\nttl='1s'\n[keys.ab]\nttl='2s'\n[defaults]\nttl='3s'", "", "abc", "ttl", "2s", "/u:4"},
    {"[keys.ab]\nttl='2s'\n[keys.a]\nttl='1s'", "", "abc", "ttl", "2s", "/u:2"},
    {"[keys.ab]\nttl='2s'\n[keys.a]\nttl='1s'", "", "ab", "ttl", "2s", "/u:2"},
    {"[keys.ab]\nttl='2s'\n[keys.a]\nttl='1s'", "", "ac", "ttl", "1s", "/u:4"},
    {"[keys.ab]\nttl='2s'", "", "a", "ttl", "", ""},
    {"[keys.ab]\nttl='2s'", "", "Ab", "ttl", "", ""},
    // Field by field.
    {"[keys.ab]\nttl='2s'\n[keys.a]\nnote='x'", "", "abc", "note", "x", "/u:4"},
    {"[keys.ab]\nttl='2s'", "[defaults]\nnote='y'", "abc", "note", "y", "/m:2"},
    // wait and nonblock are one field.
    {"[keys.a]\nnonblock=true\n[defaults]\nwait='1h'", "", "a", "wait", "true", "/u:2"},
    {"[keys.a]\nwait='1h'\n[defaults]\nnonblock=true", "", "a", "nonblock", "1h", "/u:2"},
    {"[keys.a]\nnonblock=false", "[defaults]\nwait='1h'", "a", "wait", "false", "/u:2"},
};

TEST(Configuration, the_user_s_file_comes_first_and_in_a_file_the_longest_prefix) {
  for (const Precedence& p : precedences) {
    SCOPED_TRACE(std::string(p.of_user) + " | " + p.of_machine + " | " + p.key + " " + p.setting);
    const Configuration configuration = configuration_of(p.of_user, p.of_machine);
    const Entry* const entry = configuration.setting(p.key, p.setting);
    EXPECT_EQ(entry != nullptr ? entry->text : "", p.text);
    EXPECT_EQ(entry != nullptr ? entry->from : "", p.from);
  }
}

TEST(Configuration, names_of_stores_are_the_user_s_before_the_machine_s) {
  const Configuration both = configuration_of("[stores]\na='redis://u'\nb='redis://b'",
                                              "store='a'\n[stores]\na='redis://m'\nc='redis://c'");
  EXPECT_EQ(both.store_named("a")->url, "redis://u");
  EXPECT_EQ(both.store_named("c")->url, "redis://c");
  EXPECT_EQ(both.store_named("d"), nullptr);
  EXPECT_EQ(both.store()->from, "/m:1");
  EXPECT_THAT(both.store_names(), ElementsAre("a", "b", "c"));
}

// ---- what is not given is filled in

Result<CommandLine> parsed_with(const std::string& text, const Words& words) {
  const Configuration configuration{{file_of(text)}};
  std::vector<Entry> filled;
  auto line = parse(words, [&](Given& given) { filled = substitute(configuration, given); });
  if (!line) return blamed(std::move(line).error(), filled);
  return line;
}
Run run_with(const std::string& text, const Words& words) {
  auto line = parsed_with(text, words);
  EXPECT_TRUE(line) << line.error().detail;
  return line ? run_of(line->given) : Run{};
}

constexpr const char* everything =
    "[defaults]\nttl='1m'\nwait='2m'\nnote='n'\non-lost='kill'\nkill-after='3s'\nat-least='4s'\n"
    "at-most='5s'\nconflict-exit-code=6\n";

TEST(Configuration, every_setting_means_what_its_option_means) {
  const cli::Run run = run_with(everything, {"run", "k", "true"});
  EXPECT_EQ(run.options.ttl, 1min);
  EXPECT_EQ(run.options.wait, 2min);
  EXPECT_EQ(run.options.note, "n");
  EXPECT_EQ(run.ending.on_lost, OnLost::kill);
  EXPECT_EQ(run.ending.kill_after, 3s);
  EXPECT_EQ(run.ending.at_least, 4s);
  EXPECT_EQ(run.ending.at_most, 5s);
  EXPECT_EQ(run.busy_code, 6);
  EXPECT_EQ(run_with("[defaults]\nnonblock=true", {"run", "k", "true"}).options.wait, 0s);
  EXPECT_EQ(run_with("[defaults]\nconflict-exit-code='7'", {"run", "k", "true"}).busy_code, 7);
}

TEST(Configuration, the_command_line_comes_before_it) {
  const cli::Run run =
      run_with(everything, {"run", "--ttl", "7m", "-n", "--note", "", "-E", "0", "k", "true"});
  EXPECT_EQ(run.options.ttl, 7min);
  EXPECT_EQ(run.options.wait, 0s);
  EXPECT_EQ(run.options.note, "");
  EXPECT_EQ(run.busy_code, 0);
  EXPECT_EQ(run.ending.at_most, 5s) << "what was not given is filled in all the same";
  EXPECT_EQ(run_with("[defaults]\nnonblock=true", {"run", "-w", "8s", "k", "true"}).options.wait, 8s);
}

TEST(Configuration, of_acquire_is_only_what_acquire_knows) {
  const auto line = parsed_with(everything, {"acquire", "k"});
  ASSERT_TRUE(line);
  const AcquireOptions options = acquire_options_of(line->given);
  EXPECT_EQ(options.ttl, 1min);
  EXPECT_EQ(options.wait, 2min);
  EXPECT_EQ(options.note, "n");
}

TEST(Configuration, other_commands_do_not_ask_it) {
  const auto line = parsed_with(everything, {"renew", "k", "--owner", "me"});
  ASSERT_TRUE(line);
  EXPECT_EQ(line->given.text("--ttl"), std::nullopt);
  for (const Words& words : {Words{"help"}, Words{"run", "--help"}, Words{"version"}, Words{"ls"},
                             Words{"run", "--version", "k", "true"}})
    EXPECT_TRUE(parse(words, [](Given&) { FAIL(); }));
}

TEST(Configuration, a_kill_after_is_measured_by_the_ttl_that_it_meets) {
  const std::string text = "[defaults]\nkill-after='1m'\nttl='5m'\n";
  EXPECT_EQ(run_with(text, {"run", "k", "true"}).ending.kill_after, 1min);
  const auto line = parsed_with(text, {"run", "--ttl", "30s", "k", "true"});
  ASSERT_FALSE(line);
  EXPECT_THAT(line.error().detail, StartsWith("--kill-after \"1m\" is too long for a lease of 30s"));
  EXPECT_THAT(line.error().detail, HasSubstr("kill-after is set in /u:2"));
}

TEST(Configuration, what_it_sets_can_be_unset) {
  const std::string text =
      "[defaults]\nwait='2m'\nkill-after='3s'\nat-least='4s'\nat-most='5s'\n"
      "[keys.free]\nwait='forever'\nkill-after='auto'\nat-least='0s'\nat-most='forever'\n";
  for (const Words& words :
       {Words{"run", "free", "true"}, Words{"run", "--wait", "forever", "--kill-after", "auto", "--at-least",
                                            "0s", "--at-most", "forever", "k", "true"}}) {
    const cli::Run run = run_with(text, words);
    EXPECT_EQ(run.options.wait, forever);
    EXPECT_EQ(run.ending.kill_after, std::nullopt);
    EXPECT_EQ(run.ending.at_least, 0s);
    EXPECT_EQ(run.ending.at_most, forever);
  }
}

TEST(Configuration, what_holds_if_nobody_says_can_be_written) {
  for (const Setting& setting : settings) {
    SCOPED_TRACE(setting.name);
    const std::string quote = setting.is_flag() ? "" : "'";
    const std::string value = quote + std::string(setting.otherwise) + quote;
    EXPECT_TRUE(parse_config("[defaults]\n" + std::string(setting.name) + " = " + value, "/u"));
  }
}

TEST(Configuration, what_is_wrong_only_together_is_blamed_on_the_place) {
  const Entry entries[] = {{"ttl", "5s", "/u:2"}, {"note", "x", "/u:3"}};
  EXPECT_EQ(blamed({Errc::invalid, "--ttl 5s is too short for --owner me"}, entries).detail,
            "--ttl 5s is too short for --owner me; ttl is set in /u:2");
}

TEST(Configuration, of_either_file_requires_a_store_and_neither_takes_that_back) {
  const auto required = [](const char* of_user, const char* of_machine) {
    const Configuration configuration = configuration_of(of_user, of_machine);
    const Entry* const entry = configuration.store_required();
    return entry == nullptr ? std::string() : entry->from;
  };
  const char *const yes = "require-store = true", *const no = "require-store = false";
  EXPECT_EQ(required("", ""), "");
  EXPECT_EQ(required("", no), "");
  EXPECT_EQ(required("", yes), "/m:1");
  EXPECT_EQ(required(yes, ""), "/u:1");
  EXPECT_EQ(required(no, yes), "/m:1");
}

// ---- what is wrong

struct Mistake {
  const char* text;
  const char* begins;
  const char* says;
};

const Mistake mistakes[] = {
    {"x", "/u:1:", "is not valid TOML"},
    {"\na = [1,", "/u:2:", "is not valid TOML"},
    {"[defaults]\n[defaults]\n", "/u:2:", "is not valid TOML"},
    {"[\np es]\np `ts", "/u is not valid TOML", "[ is not followed by a name"},
    {"\n\nttl = '5s'", "/u:3: unknown setting \"ttl\"",
     "allowed here are store, require-store, stores, defaults and keys"},
    {"require-store = 'true'", "/u:1: require-store must be true or false", "without quotes"},
    {"store = 5", "/u:1: store must be a string", "store = \"prod\""},
    {"store = ''", "/u:1: ", "sqlite:/PATH"},
    {"store = 'a b'", "/u:1: store is not the URL of a store", "sqlite:/PATH"},
    {"store = 'sqlite:x.db'", "/u:1: \"sqlite:x.db\" is relative", "an absolute path"},
    {"store = '@x'", "/u:1: the path in store is relative", "an absolute path"},
    {"stores = 'x'", "/u:1: \"stores\" must be a table", "[stores]"},
    {"[stores]\np = 5", "/u:2: p must be a string", "in quotes"},
    {"[stores]\np = 'other'", "/u:2: p is not the URL", "sqlite:/PATH"},
    {"[stores]\n'a:b' = 'redis://x'", "/u:2: \"a:b\" is not a valid name of a store", "letters"},
    {"[stores]\np = {}", "/u:2: the store p has no url", "p = { url ="},
    {"[stores]\np = {uri = 'redis://x'}", "/u:2: unknown setting \"uri\"",
     "a store has url, password-file and password"},
    {"[stores]\np = {url = 'redis://x', password-file = 'y'}", "/u:2: the path in password-file is relative",
     "an absolute path"},
    {"[stores]\np = {url = 'redis://x', password-file = '/y', password = 'z'}",
     "/u:2: the store p has more than one", "password-file"},
    {"[stores]\np = {url = 'redis://:a@x', password = 'z'}", "/u:2: the store p has more than one",
     "password-file"},
    {"[stores]\np = {url = 'sqlite:/x', password = 'z'}", "/u:2: the store p has a password",
     "can have none"},
    {"[defaults]\nttl = 5", "/u:2: ttl must be a string", "ttl = \"30s\""},
    {"[defaults]\nttl = '5'", "/u:2: ttl: \"5\" is not a duration", "250ms"},
    {"[defaults]\nttl = 'never'", "/u:2: ttl never", "would never end"},
    {"[defaults]\nwait = '0s'", "/u:2: wait: ", "longer"},
    {"[defaults]\nat-most = '0s'", "/u:2: at-most", "longer"},
    {"[defaults]\nkill-after = 'x'", "/u:2: kill-after: ", "is not a duration"},
    {"[defaults]\nnonblock = 'true'", "/u:2: nonblock must be true or false", "without quotes"},
    {"[defaults]\nwait = '1s'\nnonblock = true", "/u:3: wait and nonblock", "one of them"},
    {"[defaults]\non-lost = 'cry'", "/u:2: on-lost \"cry\"", "exec:PROGRAM"},
    {"[defaults]\nconflict-exit-code = 256", "/u:2: conflict-exit-code: ", "0 to 255"},
    {"[defaults]\nowner = 'me'", "/u:2: owner cannot be set in a configuration", "--owner"},
    {"[defaults]\ntll = '5s'", "/u:2: unknown setting \"tll\"", "did you mean ttl?"},
    {"[default]\nttl = '5s'", "/u:1: unknown setting \"default\"", "did you mean defaults?"},
    {"[stores]\np = {ulr = 'redis://x'}", "/u:2: unknown setting \"ulr\"", "did you mean url?"},
    {"[keys]\nttl = '5s'", "/u:2: \"ttl\" must be a table", "[keys.\"PREFIX\"]"},
    {"[keys.'']\nttl = '5s'", "/u:1: ", "[defaults]"},
    {"[keys.n\u00e4chtlich]\nttl = '5s'", "/u:1 is not valid TOML: a letter that is not ASCII",
     "[keys.\"PREFIX\"]"},
    {"\n# \u00e4\nx = \"\u00e4\" \u00e4", "/u:3 is not valid TOML: a letter", "outside quotes"},
    {"x = \"a\\\"\" \u00e4", "/u:1 is not valid TOML: a letter", "outside quotes"},
    {"x = \"a\n\u00e4", "/u:2 is not valid TOML: a letter", "outside quotes"},
    {"x = 'a\\' \u00e4", "/u:1 is not valid TOML: a letter", "outside quotes"},
    {"x = '''a\n'''' \u00e4 '", "/u:2 is not valid TOML: a letter", "outside quotes"},
    {"x = \"\"\"a\\\"\"\"\n\"\"\"\"\" \u00e4 \"", "/u:2 is not valid TOML: a letter", "outside quotes"},
    {"[keys.\"a\\u0000b\"]\nttl = '5s'", "/u:1: ", "NUL"},
};

TEST(Configuration, a_mistake_is_one_sentence_with_its_place_and_what_would_be_right) {
  for (const Mistake& mistake : mistakes) {
    SCOPED_TRACE(mistake.text);
    const auto file = parse_config(mistake.text, "/u");
    ASSERT_FALSE(file);
    EXPECT_EQ(file.error().code, Errc::invalid);
    EXPECT_THAT(file.error().detail, StartsWith(mistake.begins));
    EXPECT_THAT(file.error().detail, HasSubstr(mistake.says));
    EXPECT_THAT(file.error().detail, Not(HasSubstr("\n")));
  }
}

TEST(Configuration, letters_of_all_alphabets_may_stand_in_quotes_and_comments) {
  for (const char* const text :
       {"\ufeff# \u00e4\n[keys.\"n\u00e4\"]\nnote = 'x'", "[keys.'n\u00e4']\nnote = \"\\\"\u00e4\"",
        "[keys.'n\u00e4']\nnote = \"\"\"\"\"\u00e4\n\"\"\"\"\"",
        "[keys.'n\u00e4']\nnote = ''''\u00e4'\n''''"}) {
    SCOPED_TRACE(text);
    const auto file = parse_config(text, "/u");
    ASSERT_TRUE(file) << file.error().detail;
    ASSERT_EQ(file->sections.size(), 1U);
    EXPECT_EQ(file->sections[0].prefix, "n\u00e4");
  }
}

TEST(Configuration, a_mistake_beside_a_password_does_not_show_it) {
  const std::string canary = "hunter2-canary";
  for (const std::string& text :
       {"[stores]\np = " + canary, "[stores]\np = '" + canary, "[stores]\np = \"" + canary + "\\q\"",
        "[stores]\np = 'postgres://me:" + canary + "@h/d?x'", "store = 'host=h password=" + canary + "'",
        "[stores]\np = {url='redis://h', pasword='" + canary + "'}",
        "[stores]\np = {url='redis://h', password=" + canary + "}",
        "[defaults]\nttl = 'redis://:" + canary + "@h'", "[defaults]\nttl = 'x'\n[x]\ny='" + canary + "'",
        "[stores]\npassword = '" + canary + "'", "store = '" + canary + " '",
        "[stores]\np = '1:" + canary + "'", "store = '@" + canary + "'",
        "[stores]\np = {url='redis://h', password-file='" + canary + "'}",
        "[stores]\np = {url='@" + canary + "'}", "password = 12" + canary,
        "[stores]\np = 'redis://h' " + canary}) {
    SCOPED_TRACE(text);
    const auto file = parse_config(text, "/u");
    ASSERT_FALSE(file);
    EXPECT_THAT(file.error().detail, Not(HasSubstr(canary)));
  }
}

// ---- passwords beside a URL

TEST(Configuration, a_password_stands_behind_the_user_of_the_url_whatever_it_holds) {
  EXPECT_EQ(with_password("postgres://app@db/app", "ab"), "postgres://app:%61%62@db/app");
  EXPECT_EQ(with_password("redis://cache", "ab"), "redis://:%61%62@cache");
  EXPECT_EQ(with_password("redis://default:@h", "a"), "redis://default:%61@h");
  EXPECT_EQ(with_password("redis://:@h", "a"), "redis://:%61@h");
  EXPECT_EQ(with_password("redis://@h", "a"), "redis://:%61@h");
  EXPECT_EQ(with_password("redis+unix:///run/redis.sock", "a"), "redis+unix://:%61@/run/redis.sock");
  EXPECT_EQ(with_password("mongodb://u@a:1,b:2/d?x=y@z", "a"), "mongodb://u:%61@a:1,b:2/d?x=y@z");
  EXPECT_EQ(with_password("redis://h/0?x=a@b", "@/"), "redis://:%40%2F@h/0?x=a@b");
}

}  // namespace
}  // namespace holdfast::cli
