// SPDX-License-Identifier: Apache-2.0
// The commands for scripts: acquire, renew, release, show, ls, version.
#include <unistd.h>

#include <csignal>
#include <nlohmann/json.hpp>

#include "tests/cli/home.h"

namespace holdfast::test {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::Not;

using Scripts = HomeOn;
using ScriptsHere = Home;

TEST_P(Scripts, acquire_leaves_the_lease_running_and_release_ends_it) {
  const Ended acquired = holdfast({"acquire", "k", "--owner", "me", "--ttl", "1m"});
  EXPECT_EQ(acquired.code, 0) << acquired.err;
  EXPECT_THAT(acquired.out, MatchesRegex("owner  me\ntoken  [0-9]+\n"));
  EXPECT_FALSE(is_free("k"));
  const Ended released = holdfast({"release", "k", "--owner", "me"});
  EXPECT_EQ(released.code, 0) << released.err;
  EXPECT_EQ(released.out, "k is released\n");
  EXPECT_TRUE(is_free("k"));
}

TEST_P(Scripts, acquire_names_a_holder_by_itself) {
  const json lease = json::parse(holdfast({"acquire", "k", "--json"}).out);
  EXPECT_THAT(lease["owner"], MatchesRegex("host:.* pid:[0-9]+ guid:[0-9a-f]+"));
  EXPECT_EQ(holdfast({"release", "k", "--owner", lease["owner"]}).code, 0);
}

TEST_P(Scripts, a_lease_without_end_is_had_by_asking_and_seen_by_everybody) {
  EXPECT_EQ(holdfast({"acquire", "k", "--owner", "me", "--ttl", "never"}).code, 0);
  EXPECT_THAT(holdfast({"ls"}).out, HasSubstr("no end"));
  EXPECT_THAT(holdfast({"show", "k"}).out, HasSubstr("without end"));
  EXPECT_TRUE(json::parse(holdfast({"show", "k", "--json"}).out)["remaining_ms"].is_null());
  EXPECT_EQ(holdfast({"acquire", "-n", "k"}).code, 75);
  EXPECT_EQ(holdfast({"release", "k", "--owner", "me"}).code, 0);
  EXPECT_TRUE(is_free("k"));
  holdfast({"acquire", "l", "--owner", "me"});
  EXPECT_EQ(holdfast({"renew", "l", "--owner", "me", "--ttl", "never"}).out,
            "l is held until it is released\n");
  EXPECT_THAT(holdfast({"renew", "l", "--owner", "me", "--by", "never"}).err, HasSubstr("give --ttl never"));
  const Ended run = holdfast({"run", "--ttl", "never", "k", "--", "true"});
  EXPECT_EQ(run.code, 64);
  EXPECT_THAT(run.err, HasSubstr("--ttl never is not for run"));
}

TEST_P(Scripts, acquire_distinguishes_busy_from_granted) {
  EXPECT_EQ(holdfast({"acquire", "k"}).code, 0);
  const Ended busy = holdfast({"acquire", "-n", "k"});
  EXPECT_EQ(busy.code, 75);
  EXPECT_EQ(busy.out, "");
  EXPECT_THAT(busy.err, MatchesRegex("holdfast: k is held by [^ :]+ pid [0-9]+ \\(.* left\\)\n"));
  EXPECT_EQ(holdfast({"acquire", "-w", "50ms", "k"}).code, 75);
}

TEST_P(Scripts, acquire_is_had_again_by_the_same_owner) {
  const json first = json::parse(holdfast({"acquire", "k", "--owner", "me", "--json"}).out);
  const json again = json::parse(holdfast({"acquire", "-n", "k", "--owner", "me", "--json"}).out);
  EXPECT_EQ(first["token"], again["token"]);
}

TEST_P(Scripts, renew_makes_a_lease_last_and_reports_when_it_is_lost) {
  holdfast({"acquire", "k", "--owner", "me", "--ttl", "30s"});
  const Ended renewed = holdfast({"renew", "k", "--owner", "me", "--ttl", "10m"});
  EXPECT_EQ(renewed.code, 0) << renewed.err;
  EXPECT_THAT(renewed.out, MatchesRegex("k is held for another (10m|9m 5[0-9]s)\n"));
  EXPECT_GT(json::parse(holdfast({"show", "k", "--json"}).out)["remaining_ms"], 500'000);
  EXPECT_THAT(holdfast({"renew", "k", "--owner", "me", "--by", "10m"}).out,
              MatchesRegex("k is held for another (20m|19m 5[0-9]s)\n"));
  EXPECT_GT(
      json::parse(holdfast({"renew", "k", "--owner", "me", "--ttl", "1s", "--json"}).out)["remaining_ms"],
      1'000'000)
      << "what is left, not what was asked for";
  EXPECT_GT(json::parse(holdfast({"show", "k", "--json"}).out)["remaining_ms"], 1'000'000);
  const Ended not_mine = holdfast({"renew", "k", "--owner", "you"});
  EXPECT_EQ(not_mine.code, 76);
  EXPECT_THAT(not_mine.err, HasSubstr("you does not hold k"));
}

TEST_P(Scripts, release_reports_what_it_found) {
  EXPECT_EQ(holdfast({"release", "k", "--owner", "me"}).code, 76);
  holdfast({"acquire", "k", "--owner", "me"});
  holdfast({"release", "k", "--owner", "me"});
  const Ended again = holdfast({"release", "k", "--owner", "me"});
  EXPECT_EQ(again.code, 0);
  EXPECT_EQ(again.out, "k was already released\n");
  holdfast({"acquire", "k", "--owner", "you"});
  const Ended not_mine = holdfast({"release", "k", "--owner", "me"});
  EXPECT_EQ(not_mine.code, 76);
  EXPECT_THAT(not_mine.err, HasSubstr("holdfast: k is not held by me"));
  EXPECT_FALSE(is_free("k"));
}

// A name is all that a release takes, here as with the ancestors, and ls shows it.  Only a break is written
// down.
TEST_P(Scripts, whoever_gives_the_name_of_a_holder_releases_as_that_holder_and_leaves_no_record) {
  Process owner = hold("k");
  const std::string name = json::parse(holdfast({"ls", "--json"}).out)["owner"];
  const Ended released = holdfast({"release", "k", "--owner", name});
  EXPECT_EQ(released.code, 0) << released.err;
  EXPECT_TRUE(is_free("k"));
  EXPECT_TRUE(json::parse(holdfast({"show", "k", "--json"}).out)["log"].empty());
  ASSERT_EQ(holdfast({"acquire", "k", "--owner", "ann"}).code, 0);
  const std::string token = json::parse(holdfast({"show", "k", "--json"}).out)["token"].dump();
  ASSERT_EQ(holdfast({"break", "k", "--token", token, "--reason", "why"}).code, 0);
  EXPECT_EQ(json::parse(holdfast({"show", "k", "--json"}).out)["log"].back()["reason"], "why");
}

TEST_P(Scripts, release_of_one_that_ran_out_is_fine) {
  // If it is slower than its lease is long, it reports that it has none.
  ASSERT_TRUE(await([&] { return holdfast({"acquire", "k", "--owner", "me", "--ttl", "1s"}).code == 0; }));
  ASSERT_TRUE(await([&] { return json::parse(holdfast({"show", "k", "--json"}).out)["remaining_ms"] == 0; }));
  const Ended ended = holdfast({"release", "k", "--owner", "me"});
  EXPECT_EQ(ended.code, 0);
  EXPECT_THAT(ended.out, HasSubstr("had already expired"));
}

TEST_P(Scripts, show_prints_all_about_a_key) {
  Process owner = hold("k", {"--note", "why"});
  Process waiter = start({"run", "k", "true"});
  json shown;
  ASSERT_TRUE(await([&] {  // in one read: a waiter that is paused loses its place
    shown = json::parse(holdfast({"show", "k", "--json"}).out);
    return shown["waiting"] == 1 && shown["places"].size() == 1;
  })) << shown;
  EXPECT_EQ(shown["key"], "k");
  EXPECT_THAT(shown["owner"], HasSubstr("pid:" + std::to_string(owner.pid()) + " "));
  EXPECT_EQ(shown["note"], "why");
  EXPECT_EQ(shown["detached"], false);
  std::string text;
  ASSERT_TRUE(await([&] {
    text = holdfast({"show", "k"}).out;
    return text.find("waiting 1  ") != std::string::npos;
  })) << text;
  for (const char* const part :
       {"key        k\n", "held by    host:", "lasts      for another ", "note       why\n"}) {
    EXPECT_THAT(text, HasSubstr(part));
  }
}

TEST_P(Scripts, show_knows_who_was_taken_over) {
  Process owner = hold("k", {"--ttl", ttl_of_the_dead()});
  owner.signal(SIGKILL);
  EXPECT_EQ(holdfast({"run", "k", "true"}).code, 0);
  const json shown = json::parse(holdfast({"show", "k", "--json"}).out);
  ASSERT_EQ(shown["log"].size(), 1) << shown;
  EXPECT_EQ(shown["log"][0]["event"], "taken-over");
  EXPECT_THAT(holdfast({"show", "k"}).out, HasSubstr("taken-over by "));
}

TEST_P(Scripts, show_of_a_key_nobody_ever_had) {
  const Ended ended = holdfast({"show", "nothing"});
  EXPECT_EQ(ended.code, 0);
  EXPECT_THAT(ended.out, HasSubstr("nobody holds it, and the store has no record of it: it was never held"));
  EXPECT_EQ(json::parse(holdfast({"show", "nothing", "--json"}).out)["remaining_ms"], 0);
}

TEST_P(Scripts, a_key_nobody_ever_had_may_be_meant_for_one_that_is_held) {
  ASSERT_EQ(holdfast({"run", "known", "true"}).code, 0);
  ASSERT_EQ(holdfast({"acquire", "job", "--owner", "me", "--ttl", "1h"}).code, 0);
  const std::string hint =
      "holdfast: the store has no record of \"jbo\"; did you mean \"job\", which is held?\n";
  for (const char* const command : {"show", "explain"}) {
    SCOPED_TRACE(command);
    const Ended near = holdfast({command, "jbo"});
    EXPECT_EQ(near.code, 0);
    EXPECT_THAT(near.err, HasSubstr(hint));
    EXPECT_THAT(holdfast({command, "jbo", "--json"}).err, HasSubstr(hint));
    for (const char* const other : {"elsewhere", "job", "known"})
      EXPECT_THAT(holdfast({command, other}).err, Not(HasSubstr("did you mean"))) << other;
    EXPECT_THAT(near.out, HasSubstr("the store has no record of it: it was never held"));
    EXPECT_THAT(holdfast({command, "known"}).out, Not(HasSubstr("no record")));
  }
}

TEST_P(Scripts, ls_lists_what_is_held_aligned) {
  holdfast({"acquire", "a", "--owner", "me"});
  holdfast({"acquire", "a/long/key", "--owner", "somebody else", "--note", "x"});
  holdfast({"acquire", "b", "--owner", "me"});
  holdfast({"release", "b", "--owner", "me"});
  const std::string all = holdfast({"ls"}).out;
  EXPECT_THAT(
      all,
      MatchesRegex("KEY         HOLDER                    HELD FOR  REMAINING  WAITING  TOKEN +NOTE\n"
                   "a           me \\(detached\\)             [0-9.]+m?s +2[0-9.]+s +-        [0-9]+\n"
                   "a/long/key  somebody else \\(detached\\)  [0-9.]+m?s +2[0-9.]+s +-        [0-9]+  x\n"));
  EXPECT_THAT(holdfast({"ls", "a/"}).out, Not(HasSubstr("\na ")));
}

TEST_P(Scripts, ls_says_on_stderr_that_nothing_is_held) {
  holdfast({"acquire", "a", "--owner", "me"});
  const Ended prefixed = holdfast({"ls", "nothing"});
  EXPECT_EQ(prefixed.code, 0);
  EXPECT_EQ(prefixed.out, "");
  EXPECT_THAT(prefixed.err,
              MatchesRegex("holdfast: no key that starts with \"nothing\" is held or waited for in .*\n"));
  holdfast({"release", "a", "--owner", "me"});
  EXPECT_THAT(holdfast({"ls"}).err, MatchesRegex("holdfast: no key is held or waited for in .*\n"));
  EXPECT_THAT(holdfast({"ls", "--held"}).err, MatchesRegex("holdfast: no key is held in .*\n"));
  const Ended objects = holdfast({"ls", "--json"});
  EXPECT_EQ(objects.out + objects.err, "") << "none is the answer";
}

TEST_P(Scripts, ls_gives_one_object_per_line) {
  holdfast({"acquire", "a", "--owner", "me"});
  holdfast({"acquire", "\"b\"\n", "--owner", "me"});
  std::istringstream lines(holdfast({"ls", "--json"}).out);
  std::vector<std::string> keys;
  for (std::string line; std::getline(lines, line);) keys.push_back(json::parse(line)["key"]);
  EXPECT_THAT(keys, ::testing::UnorderedElementsAre("a", "\"b\"\n"));
}

TEST_P(Scripts, what_others_wrote_cannot_play_with_the_terminal) {
  holdfast({"acquire", "k\033[2J", "--owner", "me\r", "--note",
            "\xe2\x80\xae"
            "evil"});
  for (const Ended& ended :
       {holdfast({"ls"}), holdfast({"show", "k\033[2J"}), holdfast({"run", "-n", "k\033[2J", "true"})}) {
    for (const char* const raw : {"\033", "\r", "\xe2\x80\xae"})
      EXPECT_THAT(ended.out + ended.err, Not(HasSubstr(raw)));
  }
}

TEST_F(ScriptsHere, colours_are_for_terminals_that_want_them) {
  holdfast({"acquire", "k"});
  EXPECT_THAT(holdfast({"ls"}).out, Not(HasSubstr("\033")));
  for (const bool no_colour : {false, true}) {
    if (no_colour) environment_["NO_COLOR"] = "1";
    Process::Plan on_terminal = holdfast_plan({"ls"});
    on_terminal.on_terminal = true;
    Process process(on_terminal);
    EXPECT_EQ(process.wait(), 0);
    EXPECT_EQ(process.out().find('\033') == std::string::npos, no_colour) << process.out();
  }
}

TEST_F(ScriptsHere, version_and_help_need_no_store) {
  EXPECT_EQ(holdfast({"version"}).out, holdfast({"--version"}).out);
  EXPECT_THAT(holdfast({"version"}).out, MatchesRegex("holdfast [0-9]+\\.[0-9]+\\.[0-9]+\n"));
  EXPECT_TRUE(json::parse(holdfast({"version", "--json"}).out).contains("version"));
  EXPECT_EQ(holdfast({"help"}).code, 0);
  EXPECT_TRUE(is_empty());
}

TEST_F(ScriptsHere, the_store_comes_from_the_option_then_the_environment_then_the_home) {
  EXPECT_EQ(holdfast({"run", "k", "true"}).code, 0);
  EXPECT_TRUE(exists(".local/state/holdfast/leases.db"));
  environment_["XDG_STATE_HOME"] = path("state");
  EXPECT_EQ(holdfast({"run", "k", "true"}).code, 0);
  EXPECT_TRUE(exists("state/holdfast/leases.db"));
  environment_["HOLDFAST_STORE"] = "sqlite:" + path("environment.db");
  EXPECT_EQ(holdfast({"run", "k", "true"}).code, 0);
  EXPECT_TRUE(exists("environment.db"));
  EXPECT_EQ(holdfast({"run", "--store", "sqlite:" + path("option.db"), "k", "true"}).code, 0);
  EXPECT_TRUE(exists("option.db"));
}

TEST_F(ScriptsHere, root_makes_nothing_in_the_home_of_another_user) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root could";
  ASSERT_EQ(::chown(path("").c_str(), 12345, 12345), 0);
  for (const Words& words :
       {Words{"run", "k", "true"}, {"acquire", "k"}, {"jobs", "enqueue", "Some"}, {"init"}}) {
    const Ended ended = holdfast(words);
    EXPECT_EQ(ended.code, 77);
    EXPECT_THAT(ended.err, HasSubstr("belongs to another user (uid 12345)"));
    EXPECT_THAT(ended.err, HasSubstr("sudo -H"));
  }
  EXPECT_TRUE(is_empty());
}

TEST_F(ScriptsHere, an_answer_that_cannot_be_written_is_no_success) {
  Process process(plan({"sh", "-c", HOLDFAST_BINARY " version > /dev/full"}));
  EXPECT_EQ(process.wait(), 77);
  EXPECT_THAT(process.err(), HasSubstr("cannot write the answer"));
}

TEST_P(Scripts, an_acquire_that_cannot_print_its_owner_takes_nothing) {
  Process process(plan({"sh", "-c", HOLDFAST_BINARY " acquire k > /dev/full"}));
  EXPECT_EQ(process.wait(), 77);
  EXPECT_TRUE(is_free("k"));
}

TEST_P(Scripts, an_acquire_as_an_owner_that_cannot_print_its_token_takes_nothing_from_that_owner) {
  const json first = json::parse(holdfast({"acquire", "k", "--owner", "ann", "--ttl", "1h", "--json"}).out);
  Process process(plan({"sh", "-c", HOLDFAST_BINARY " acquire k --owner ann > /dev/full"}));
  EXPECT_EQ(process.wait(), 77);
  EXPECT_EQ(process.err(),
            "holdfast: k is held by ann, although the answer could not be written; release it with `holdfast "
            "release`\n"
            "holdfast: cannot write the answer: No space left on device\n");
  const json now = json::parse(holdfast({"show", "k", "--json"}).out);
  EXPECT_EQ(now["owner"], "ann");
  EXPECT_EQ(now["token"], first["token"]);
  EXPECT_GT(now["remaining_ms"], 0);
}

bool has_open(pid_t pid, const std::string& name) {
  std::error_code gone;
  for (const auto& link : std::filesystem::directory_iterator("/proc/" + std::to_string(pid) + "/fd", gone)) {
    if (std::filesystem::read_symlink(link, gone).filename() == name) return true;
  }
  return false;
}

// The signal arrives when the store has the request and has not answered, because somebody else writes the
// file.
TEST_F(ScriptsHere, an_interrupted_acquire_by_a_name_takes_nothing_from_that_name) {
  ASSERT_EQ(holdfast({"acquire", "k", "--owner", "ann", "--ttl", "1h"}).code, 0);
  for (int i = 0; i < 3; ++i) {
    Process::Plan writer = plan({"sqlite3", path(".local/state/holdfast/leases.db")});
    writer.keep_input = true;
    Process writing(writer);
    writing.type("BEGIN IMMEDIATE;\nSELECT 'writing';\n");
    ASSERT_TRUE(writing.await_out("writing\n")) << writing.err();
    Process acquiring = start({"acquire", "k", "--owner", "ann"});
    ASSERT_TRUE(await([&] { return has_open(acquiring.pid(), "leases.db-shm"); }));
    let_pass(Millis(50));
    acquiring.signal(SIGTERM);
    let_pass(Millis(50));
    writing.type("ROLLBACK;\n");
    EXPECT_EQ(acquiring.wait(), 128 + SIGTERM);
    EXPECT_FALSE(is_free("k"));
  }
}

TEST_F(ScriptsHere, a_store_that_cannot_be_used_is_77_or_69_and_named) {
  const Ended folder = holdfast({"--store", "sqlite:/proc/none/x.db", "run", "k", "true"});
  EXPECT_TRUE(folder.code == 77 || folder.code == 69) << folder.code;
  EXPECT_THAT(folder.err, HasSubstr("/proc/none"));
  std::ofstream(path("no.db"))
      << "this is a letter, not a database, and long enough to be sure of that, I think.\n";
  const Ended letter = holdfast({"--store", "sqlite:" + path("no.db"), "run", "k", "true"});
  EXPECT_EQ(letter.code, 77) << letter.err;
  EXPECT_THAT(letter.err, HasSubstr("no.db"));
}

HOLDFAST_ON_EVERY_SHARED_STORE(Scripts);

}  // namespace
}  // namespace holdfast::test
