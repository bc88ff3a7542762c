// SPDX-License-Identifier: Apache-2.0
// run --tick and run --every: whose turn it is, and what happened to a key.
#include <csignal>

#include "tests/cli/jobs_home.h"

namespace holdfast::test {
namespace {

using ::testing::HasSubstr;
using ::testing::MatchesRegex;

using Turns = JobsHome;
using TurnsHere = Home;
using Explaining = JobsHome;

TEST_P(Turns, of_five_at_once_one_has_the_tick) {
  std::vector<Process> all;
  for (int i = 0; i < 5; ++i)
    all.push_back(start({"run", "--tick", "1000d", "k", "--", "sh", "-c", "echo ran >> ran"}));
  int ran = 0, refused = 0;
  for (Process& process : all) {
    const int code = process.wait();
    ran += code == 0;
    refused += code == 75;
    if (code == 75) {
      EXPECT_THAT(process.err(),
                  MatchesRegex("holdfast: CMD is not run: k was already run in the .*, by .*\n"));
    }
  }
  EXPECT_EQ(ran, 1);
  EXPECT_EQ(refused, 4);
  EXPECT_EQ(text_of("ran"), "ran\n");
}

TEST_P(Turns, the_next_tick_is_another_and_a_key_has_its_own) {
  EXPECT_EQ(holdfast({"run", "--tick", "1ms", "k", "true"}).code, 0);
  EXPECT_EQ(holdfast({"run", "--tick", "1ms", "k", "true"}).code, 0);
  EXPECT_EQ(holdfast({"run", "--tick", "1000d", "other", "true"}).code, 0);
  EXPECT_EQ(holdfast({"run", "--tick", "1000d", "another", "true"}).code, 0);
  EXPECT_EQ(holdfast({"run", "--tick", "1000d", "another", "true"}).code, 75);
}

TEST_P(Turns, a_tick_may_be_given_another_length) {
  EXPECT_EQ(holdfast({"run", "--tick", "1000d", "k", "true"}).code, 0);
  EXPECT_EQ(holdfast({"run", "--tick", "1ms", "k", "true"}).code, 0);
  EXPECT_EQ(holdfast({"run", "--tick", "2ms", "k", "true"}).code, 0)
      << "the moments count, not their numbers";
}

TEST_P(Turns, a_tick_is_had_even_by_a_command_that_fails) {
  EXPECT_EQ(holdfast({"run", "--tick", "1000d", "k", "--", "sh", "-c", "exit 3"}).code, 3);
  EXPECT_EQ(holdfast({"run", "--tick", "1000d", "k", "true"}).code, 75);
}

TEST_P(Turns, every_runs_again_after_a_failure_and_not_after_a_success) {
  EXPECT_EQ(holdfast({"run", "--every", "1d", "k", "false"}).code, 1);
  EXPECT_EQ(holdfast({"run", "--every", "1d", "k", "--", "sh", "-c", "kill $$"}).code, 143);
  EXPECT_EQ(holdfast({"run", "--every", "1d", "k", "no-such-program"}).code, 127);
  EXPECT_EQ(holdfast({"run", "--every", "1d", "k", "true"}).code, 0);
  const Ended refused = holdfast({"run", "--every", "1d", "k", "touch", path("ran")});
  EXPECT_EQ(refused.code, 75);
  EXPECT_THAT(refused.err,
              MatchesRegex("holdfast: CMD is not run: k last succeeded at .* ago, and --every is 1d\n"));
  EXPECT_FALSE(exists("ran"));
  EXPECT_EQ(holdfast({"run", "--every", "1ms", "k", "true"}).code, 0);
}

TEST_P(Turns, a_success_under_a_lease_that_was_taken_away_does_not_count) {
  for (const std::string least : {"0s", "1h"}) {  // the key is not kept for it either
    Process::Plan plan = holdfast_plan({"run", "--ttl", "1h", "--every", "1d", "--at-least", least, "k", "--",
                                        "sh", "-c", "echo held; read line"});
    plan.keep_input = true;
    Process owner(plan);
    ASSERT_TRUE(owner.await_out("held\n")) << owner.err();
    const auto shown = nlohmann::json::parse(holdfast({"show", "k", "--json"}).out);
    ASSERT_EQ(holdfast({"break", "k", "--token", shown["token"].dump(), "--reason", "in doubt"}).code, 0);
    owner.type("done\n");  // its next renewal is far away
    EXPECT_EQ(owner.wait(), 76);
    EXPECT_THAT(owner.err(), HasSubstr("in doubt"));
  }
  EXPECT_EQ(holdfast({"run", "--every", "1d", "k", "true"}).code, 0);
}

TEST_P(Turns, E_changes_the_code_and_the_key_is_free_after_a_refusal) {
  ASSERT_EQ(holdfast({"run", "--every", "1d", "k", "true"}).code, 0);
  EXPECT_EQ(holdfast({"run", "-E", "9", "--every", "1d", "k", "true"}).code, 9);
  const Ended silent = holdfast({"run", "-E", "0", "--every", "1d", "k", "touch", path("ran")});
  EXPECT_EQ(silent.code, 0);
  EXPECT_EQ(silent.err, "");
  EXPECT_FALSE(exists("ran"));
  EXPECT_TRUE(is_free("k"));
}

// The other hosts have such a file too, and each of them would run it.
TEST_F(TurnsHere, every_counts_from_the_last_success) {
  ASSERT_EQ(holdfast({"run", "--every", "1d", "k", "true"}).code, 0);
  Process an_hour_passes(
      plan({"sqlite3", path(".local/state/holdfast/leases.db"), ".timeout 20000",
            "UPDATE holdfast_ticks SET success_at = success_at - 3600000000 WHERE name = 'run:k'"}));
  ASSERT_EQ(an_hour_passes.wait(), 0) << an_hour_passes.err();
  const Ended refused = holdfast({"run", "--every", "1d", "k", "true"});
  EXPECT_EQ(refused.code, 75);
  EXPECT_THAT(refused.err, HasSubstr(", 1h"));
  EXPECT_EQ(holdfast({"run", "--every", "59m", "k", "true"}).code, 0);
}

TEST_F(TurnsHere, on_an_implicit_store_warn_once) {
  for (const std::string option : {"--tick", "--every"}) {
    const std::string key = "by" + option;
    EXPECT_EQ(holdfast({"--quiet", "run", option, "1ms", key + " quietly", "true"}).err, "");
    const Ended first = holdfast({"run", option, "1ms", key, "false"});
    EXPECT_EQ(first.code, 1) << first.err;
    EXPECT_THAT(first.err,
                MatchesRegex("holdfast: no store was given: using sqlite:.*, a file of this user on "
                             "this host, so " +
                             option +
                             " does not count runs of other users and hosts; set HOLDFAST_STORE "
                             ".*\n"));
    for (const char* const command : {"false", "true", "true"})
      EXPECT_EQ(holdfast({"run", option, "1ms", key, command}).err, "") << "once, whether it succeeds or not";
    EXPECT_EQ(holdfast({"run", option, "1ms", key + " too", "true"}).err, "") << "for all keys";
  }
  EXPECT_EQ(holdfast({"run", "k", "true"}).err, "") << "a lease alone is often meant so";
  environment_["HOLDFAST_STORE"] = "sqlite:" + path(".local/state/holdfast/leases.db");
  EXPECT_EQ(holdfast({"run", "--tick", "1ms", "other", "true"}).err, "") << "this one is named";
}

TEST_P(Explaining, a_key_shows_who_was_dropped_because_of_whom_and_who_holds_it_now) {
  handler("Do", "exit 0");
  const std::string done = enqueue({"Do", "--key", "k", "--loner"});
  holdfast({"jobs", "enqueue", "Do", "--key", "k", "--loner"});
  ASSERT_EQ(work_once().code, 0);
  Process owner = hold("k");
  const std::string dropped = enqueue({"Do", "--key", "k", "--on-conflict", "drop"});
  ASSERT_EQ(work_once().code, 0);
  const std::string told = holdfast({"explain", "k"}).out;
  const std::string pid = std::to_string(owner.pid());
  EXPECT_THAT(told, MatchesRegex("[^\n]*job " + done +
                                 " Do enqueued \\(loner; 1 duplicate was not enqueued\\)\n"
                                 "[^\n]*job " +
                                 done +
                                 " Do started by [^\n]*\n"
                                 "[^\n]*job " +
                                 done +
                                 " Do done\n"
                                 "[^\n]*job " +
                                 dropped +
                                 " Do enqueued\n"
                                 "[^\n]*job " +
                                 dropped + " Do dropped because .* pid " + pid +
                                 " held k\n"
                                 "now +k is held by .* pid " +
                                 pid + ", token [^\n]*\n"));
  const std::string one = holdfast({"explain", dropped}).out;
  EXPECT_THAT(one, HasSubstr("job " + dropped + " Do dropped because"));
  EXPECT_THAT(one, ::testing::Not(HasSubstr("job " + done + " ")));
  const std::string past = one.substr(0, one.find("now"));
  EXPECT_THAT(holdfast({"explain", "job:" + dropped}).out, ::testing::StartsWith(past));
  const auto lines = lines_of(holdfast({"explain", "k", "--json"}).out);
  ASSERT_EQ(lines.size(), 6u);
  EXPECT_EQ(lines[4]["event"], "dropped");
  EXPECT_THAT(lines[4]["by"], HasSubstr("pid:" + pid));
  EXPECT_EQ(lines[5]["event"], "holds");
  EXPECT_TRUE(lines[5]["at_us"].is_null());
}

TEST_P(Explaining, a_job_shows_its_failures_and_who_acted) {
  handler("Bad", "exit 3");
  const std::string id = enqueue({"Bad", "--attempts", "1"});
  ASSERT_EQ(work_once().code, 0);
  EXPECT_THAT(holdfast({"explain", id}).out,
              MatchesRegex("[^\n]* enqueued\n[^\n]* started by [^\n]*\n[^\n]*Bad failed: exit 3\n"
                           "[^\n]*Bad is dead: exit 3\nnow [^\n]*\n"));
  ASSERT_EQ(holdfast({"jobs", "retry", id}).code, 0);
  ASSERT_EQ(holdfast({"jobs", "cancel", id}).code, 0);
  EXPECT_THAT(
      holdfast({"explain", id}).out,
      MatchesRegex(
          "(.|\n)*Bad failed: exit 3\n(.|\n)*Bad retried by .*@.*\n(.|\n)*Bad cancelled by .*\n(.|\n)*"));
}

TEST_P(Explaining, a_job_that_is_tried_again_was_not_enqueued_for_that_moment) {
  handler("Bad", "exit 3");
  const std::string id = enqueue({"Bad", "--attempts", "1"});
  ASSERT_EQ(work_once().code, 0);
  ASSERT_EQ(holdfast({"jobs", "retry", id}).code, 0);
  EXPECT_THAT(holdfast({"explain", id}).out, HasSubstr("Bad enqueued\n"));
  const std::string later = enqueue({"Bad", "--at", "2100-01-01T00:00:00Z", "--key", "later"});
  EXPECT_THAT(holdfast({"explain", later}).out,
              HasSubstr("Bad enqueued (scheduled for 2100-01-01 00:00:00Z)\n"));
}

TEST_P(Explaining, a_word_that_is_neither_job_nor_key_is_64) {
  enqueue({"Other"});
  const Ended bare = holdfast({"explain", "999999"});
  EXPECT_EQ(bare.code, 64);
  EXPECT_EQ(bare.out, "");
  EXPECT_THAT(bare.err, HasSubstr("there is no job 999999 in this store, and no record of a key 999999"));
  const Ended marked = holdfast({"explain", "job:999999"});
  EXPECT_EQ(marked.code, 64);
  EXPECT_EQ(marked.out, "");
  EXPECT_THAT(marked.err,
              HasSubstr("there is no job 999999 in this store; `holdfast jobs ls` lists the jobs"));
  EXPECT_THAT(holdfast({"explain", "job:x"}).out, HasSubstr("job:x is free")) << "a key like any other";
}

TEST_P(Explaining, a_key_without_jobs_shows_its_lease) {
  ASSERT_EQ(holdfast({"acquire", "42", "--owner", "olga", "--ttl", "1h"}).code, 0);
  Process waiter = start({"run", "42", "true"});
  EXPECT_TRUE(await([&] {
    return holdfast({"explain", "42"}).out.find("pid " + std::to_string(waiter.pid()) + " waits for 42") !=
           std::string::npos;
  }));
  const auto shown = nlohmann::json::parse(holdfast({"show", "42", "--json"}).out);
  ASSERT_EQ(holdfast({"break", "42", "--token", shown["token"].dump(), "--reason", "gone home"}).code, 0);
  EXPECT_EQ(waiter.wait(), 0);
  EXPECT_THAT(
      holdfast({"explain", "42"}).out,
      MatchesRegex("[^\n]* 42 broken by [^\n]*: gone home \\(was held by olga, token [0-9]+\\)\n(.|\n)*"
                   "now +42 is free\n"));
}

HOLDFAST_ON_EVERY_SHARED_STORE_OF_JOBS(Turns);
HOLDFAST_ON_EVERY_SHARED_STORE_OF_JOBS(Explaining);

}  // namespace
}  // namespace holdfast::test
