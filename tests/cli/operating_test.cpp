// SPDX-License-Identifier: Apache-2.0
// The commands of an operator: break, wait, purge, init, and ls and show with all their options.
#include <csignal>
#include <nlohmann/json.hpp>

#include "tests/cli/home.h"

namespace holdfast::test {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::Not;

class Operating : public HomeOn {
 protected:
  json show(const std::string& key) { return json::parse(holdfast({"show", key, "--json"}).out); }
  std::string token_of(const std::string& key) {
    return std::to_string(show(key)["token"].get<std::uint64_t>());
  }
  // A command that ends when something is typed.
  Process hold_until_told(const std::string& key) {
    Process::Plan plan = holdfast_plan({"run", "--ttl", "1h", key, "--", "sh", "-c", "echo held; read line"});
    plan.keep_input = true;
    Process process(plan);
    EXPECT_TRUE(process.await_out("held\n")) << process.err();
    return process;
  }
  std::vector<std::string> keys(Words words) {
    words.insert(words.begin(), {"ls", "--json"});
    std::istringstream lines(holdfast(words).out);
    std::vector<std::string> keys;
    for (std::string line; std::getline(lines, line);) keys.push_back(json::parse(line)["key"]);
    return keys;
  }
};

using OperatingHere = Home;

TEST_P(Operating, break_ends_a_run_which_reports_who_did_it_and_why) {
  Process owner = hold("k", {"--ttl", "3s"});
  const Ended broken = holdfast({"break", "k", "--token", token_of("k"), "--reason", "stuck since noon"});
  EXPECT_EQ(broken.code, 0) << broken.err;
  EXPECT_THAT(broken.out,
              MatchesRegex("broke the lease on k, which .* pid " + std::to_string(owner.pid()) + " held\n"));
  EXPECT_THAT(broken.err,
              MatchesRegex("holdfast: the old holder may run until its next renewal \\(usually "
                           "within ttl/3\\), at most for another [0-9.]+m?s; stop it if you can\n"));
  EXPECT_EQ(owner.wait(), 76);
  EXPECT_THAT(owner.err(), MatchesRegex("(.|\n)*the lease on k was lost: broken by .*@.* pid [0-9]+: "
                                        "stuck since noon; the command was stopped\n"));
  const json shown = show("k");
  ASSERT_EQ(shown["log"].size(), 1u);
  EXPECT_EQ(shown["log"][0]["event"], "broken");
  EXPECT_EQ(shown["log"][0]["reason"], "stuck since noon");
  EXPECT_THAT(shown["log"][0]["owner"], HasSubstr("pid:" + std::to_string(owner.pid())));
  EXPECT_THAT(holdfast({"show", "k"}).out,
              MatchesRegex("(.|\n)*broken by .*: stuck since noon \\(was held by .*"));
}

TEST_P(Operating, break_of_a_run_whose_command_ends_before_it_learns_of_it_is_a_loss_too) {
  Process owner = hold_until_told("k");
  const Ended broken = holdfast({"break", "k", "--token", token_of("k"), "--reason", "in doubt"});
  EXPECT_EQ(broken.code, 0) << broken.err;
  owner.type("done\n");  // its next renewal is far away: the release is what finds out
  EXPECT_EQ(owner.wait(), 76);
  EXPECT_THAT(owner.err(), HasSubstr("in doubt"));
}

TEST_P(Operating, break_wakes_the_next_in_the_queue) {
  holdfast({"acquire", "k", "--owner", "me", "--ttl", "1h"});
  Process waiter = start({"run", "k", "echo", "at last"});
  ASSERT_TRUE(await([&] { return show("k")["waiting"] == 1; }));
  EXPECT_EQ(holdfast({"break", "k", "--token", token_of("k"), "--reason", "gone home"}).code, 0);
  EXPECT_EQ(waiter.wait(), 0);
  EXPECT_EQ(waiter.out(), "at last\n");
}

TEST_P(Operating, break_with_another_token_changes_nothing) {
  holdfast({"acquire", "k", "--owner", "me"});
  const std::string token = token_of("k");
  const Ended wrong = holdfast({"break", "k", "--token", "5", "--reason", "x"});
  EXPECT_EQ(wrong.code, 76);
  EXPECT_THAT(wrong.err, HasSubstr("k is not held with token 5: it is held by me with token " + token));
  EXPECT_THAT(wrong.err, HasSubstr("nothing was changed"));
  EXPECT_EQ(holdfast({"break", "nobody's", "--token", "5", "--reason", "x"}).code, 76);
  EXPECT_EQ(show("k")["owner"], "me");
  EXPECT_TRUE(show("k")["log"].empty());
  EXPECT_EQ(json::parse(holdfast({"break", "k", "--token", token, "--reason", "x", "--json"}).out)["owner"],
            "me");
}

TEST_P(Operating, wait_ends_when_the_key_is_free_and_takes_nothing) {
  EXPECT_EQ(holdfast({"wait", "k"}).code, 0);
  Process owner = hold_until_told("k");
  Process waiter = start({"wait", "k"});
  EXPECT_EQ(holdfast({"wait", "-n", "k"}).code, 75);
  Ended timeout{};
  EXPECT_TRUE(await([&] {  // a read that takes too long prints something else
    timeout = holdfast({"wait", "-w", "30ms", "k"});
    return timeout.code == 75;
  })) << timeout.code;
  EXPECT_THAT(timeout.err, MatchesRegex("holdfast: k is held by [^ :]+ pid [0-9]+ \\(.* left\\)\n"));
  EXPECT_FALSE(waiter.has_ended());
  owner.type("done\n");
  EXPECT_EQ(waiter.wait(), 0) << waiter.err();
  EXPECT_EQ(waiter.out(), "");
  EXPECT_EQ(owner.wait(), 0);
}

TEST_P(Operating, wait_ends_when_the_holder_dies) {
  Process owner = hold("k", {"--ttl", ttl_of_the_dead()});
  Process waiter = start({"wait", "k"});
  const pid_t command = command_of(owner.pid()), guard = guard_of(owner.pid());
  ASSERT_GT(guard, 0) << owner.err();
  ASSERT_GT(command, 0) << owner.err();
  for (const pid_t pid : {owner.pid(), guard, command}) send_signal(pid, SIGKILL);
  EXPECT_EQ(waiter.wait(), 0) << waiter.err();
}

TEST_P(Operating, purge_reports_what_it_removed) {
  holdfast({"run", "a", "true"});
  holdfast({"run", "b", "true"});
  holdfast({"acquire", "c", "--owner", "me"});
  EXPECT_EQ(holdfast({"purge"}).out,
            "purged 0 keys (free for 1d or longer), 0 expired places in queues, 0 log entries\n");
  EXPECT_EQ(holdfast({"purge", "--older-than", "0s"}).out,
            "purged 2 keys (free for 0ms or longer), 0 expired places in queues, 0 log entries\n");
  EXPECT_EQ(json::parse(holdfast({"purge", "--older-than", "0s", "--json"}).out)["keys"], 0);
  EXPECT_EQ(show("c")["owner"], "me");
}

TEST_F(OperatingHere, init_plans_then_makes_then_has_nothing_to_do) {
  const Ended plan = holdfast({"init", "--dry-run"});
  EXPECT_EQ(plan.code, 0);
  EXPECT_THAT(plan.out, HasSubstr("CREATE TABLE IF NOT EXISTS \"locks\""));
  EXPECT_TRUE(is_empty()) << "a plan makes nothing";
  EXPECT_THAT(holdfast({"init"}).out, MatchesRegex("sqlite:.*/leases.db is ready\n"));
  EXPECT_TRUE(exists(".local/state/holdfast/leases.db"));
  EXPECT_THAT(holdfast({"init"}).out, MatchesRegex("nothing is missing in sqlite:.*/leases.db\n"));
  EXPECT_EQ(holdfast({"init", "--dry-run"}).out, "");
  const Ended foreign = holdfast({"init", "--store", "sqlite:/etc/passwd"});
  EXPECT_EQ(foreign.code, 77);
}

TEST_F(OperatingHere, init_makes_another_table_in_the_same_file) {
  holdfast({"init"});
  const std::string url = "sqlite:" + path(".local/state/holdfast/leases.db") + "?table=reports";
  EXPECT_THAT(holdfast({"--store", url, "init", "--dry-run"}).out, HasSubstr("\"reports\""));
  EXPECT_THAT(holdfast({"--store", url, "init", "--dry-run"}).out, HasSubstr("\"reports\""));
  EXPECT_THAT(holdfast({"--store", url, "init"}).out, HasSubstr("is ready"));
}

TEST_F(OperatingHere, reading_commands_create_nothing_and_report_an_unused_store) {
  for (const Words& words : {Words{"ls"}, Words{"show", "k"}, Words{"wait", "k"}, Words{"purge"},
                             Words{"break", "k", "--token", "1", "--reason", "x"},
                             Words{"renew", "k", "--owner", "me"}, Words{"release", "k", "--owner", "me"}}) {
    SCOPED_TRACE(words.front());
    const Ended ended = holdfast(words);
    const bool changes = words.front() == "break" || words.front() == "renew" || words.front() == "release";
    EXPECT_EQ(ended.code, changes ? 76 : 0);
    EXPECT_THAT(ended.err, HasSubstr("nobody has used this store yet"));
    EXPECT_TRUE(is_empty());
  }
}

TEST_P(Operating, a_detached_holder_learns_of_a_break) {
  holdfast({"acquire", "k", "--owner", "me"});
  const Ended broken = holdfast({"break", "k", "--token", token_of("k"), "--reason", "no more"});
  EXPECT_THAT(broken.err, HasSubstr("learns of the break when it next renews or releases\n"));
  const Ended renewed = holdfast({"renew", "k", "--owner", "me"});
  EXPECT_EQ(renewed.code, 76);
  EXPECT_THAT(renewed.err, HasSubstr("no more"));
  const Ended released = holdfast({"release", "k", "--owner", "me"});
  EXPECT_EQ(released.code, 76);
  EXPECT_THAT(released.err, HasSubstr("was broken by an operator"));
}

TEST_P(Operating, ls_can_show_only_what_is_held_and_only_a_prefix) {
  holdfast({"acquire", "job/a", "--owner", "me"});
  holdfast({"acquire", "other", "--owner", "me"});
  std::vector<std::string> jobs, held_jobs;
  ASSERT_TRUE(await([&] {
    holdfast({"acquire", "job/b", "--owner", "me", "--ttl", "1h"});
    const Process waiter = start({"run", "job/b", "true"});
    EXPECT_TRUE(await([&] { return show("job/b")["waiting"] == 1; }));
    stop(waiter);  // it does not take what becomes free, and keeps its place for a while: we may be too late
    holdfast({"release", "job/b", "--owner", "me"});
    jobs = keys({"--prefix", "job/"});
    held_jobs = keys({"job/", "--held"});
    return jobs.size() == 2;
  }));
  EXPECT_THAT(jobs, ElementsAre("job/a", "job/b"));
  EXPECT_THAT(held_jobs, ElementsAre("job/a"));
  EXPECT_THAT(keys({"--held"}), ElementsAre("job/a", "other"));
}

TEST_P(Operating, ls_lists_keys_that_are_free_only_if_all_are_asked_for) {
  for (const char* key : {"a", "b"}) holdfast({"acquire", key, "--owner", "me"});
  holdfast({"release", "a", "--owner", "me"});
  EXPECT_THAT(keys({}), ElementsAre("b"));
  EXPECT_THAT(keys({"--all"}), ElementsAre("a", "b"));
  for (const char* other : {"--held", "--watch"}) EXPECT_EQ(holdfast({"ls", "--all", other}).code, 64);
}

TEST_P(Operating, ls_sorts_by_what_is_asked) {
  holdfast({"acquire", "b", "--owner", "me", "--ttl", "1h"});
  holdfast({"acquire", "c", "--owner", "me", "--ttl", "1m"});
  holdfast({"acquire", "a", "--owner", "me", "--ttl", "30m"});
  Process waiter = start({"run", "c", "true"});
  ASSERT_TRUE(await([&] { return show("c")["waiting"] == 1; }));
  EXPECT_THAT(keys({}), ElementsAre("a", "b", "c"));
  EXPECT_THAT(keys({"--sort", "key"}), ElementsAre("a", "b", "c"));
  EXPECT_THAT(keys({"--sort", "since"}), ElementsAre("b", "c", "a"));
  EXPECT_THAT(keys({"--sort", "remaining"}), ElementsAre("c", "a", "b"));
  EXPECT_THAT(keys({"--sort", "waiting"}), ElementsAre("c", "a", "b"));
}

TEST_P(Operating, show_says_who_waits) {
  Process owner = hold("k");
  Process waiter = start({"run", "k", "true"});
  const std::string pid = std::to_string(waiter.pid());
  json shown;
  ASSERT_TRUE(await([&] { return (shown = show("k"))["places"].size() == 1; }));
  EXPECT_THAT(shown["places"][0]["owner"], HasSubstr("pid:" + pid + " "));
  const std::string words = " pid " + pid + "\n";
  EXPECT_TRUE(await([&] { return holdfast({"show", "k"}).out.find(words) != std::string::npos; }));
}

HOLDFAST_ON_EVERY_SHARED_STORE(Operating);

}  // namespace
}  // namespace holdfast::test
