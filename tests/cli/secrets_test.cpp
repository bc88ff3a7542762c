// SPDX-License-Identifier: Apache-2.0
// A password that we were given is seen by nobody else: a canary is planted, and looked for everywhere.
#include <sys/stat.h>

#include "tests/cli/home.h"

namespace holdfast::test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* canary = "hunter2-canary";

class Secrets : public Home {
 protected:
  // The embedded store has no passwords (servers_test.cpp has those that do).  But what looks like one is
  // treated as one, here the name of a file.
  std::string secret_url() const { return "sqlite:" + path("a password=") + canary; }
  std::string secret_file(mode_t mode) const {
    std::ofstream(path("url")) << secret_url() << "\nnot this\n";
    ::chmod(path("url").c_str(), mode);
    return "@" + path("url");
  }

  // All ways to give a URL; each is tried on an environment of its own.
  enum class Way { option, option_with_equals, environment, file, file_by_environment };
  static constexpr Way ways[] = {Way::option, Way::option_with_equals, Way::environment, Way::file,
                                 Way::file_by_environment};
  Words given(Way way, const std::string& url, Words words) {
    environment_.erase("HOLDFAST_STORE");
    if (way == Way::option) words.insert(words.begin(), {"--store", url});
    if (way == Way::option_with_equals) words.insert(words.begin(), "--store=" + url);
    if (way == Way::environment) environment_["HOLDFAST_STORE"] = url;
    if (way == Way::file) words.insert(words.begin(), {"--store", secret_file(0600)});
    if (way == Way::file_by_environment) environment_["HOLDFAST_STORE"] = secret_file(0600);
    return words;
  }
  static void expect_nothing_in(const Ended& ended) {
    EXPECT_THAT(ended.out, Not(HasSubstr(canary)));
    EXPECT_THAT(ended.err, Not(HasSubstr(canary)));
  }
};

TEST_F(Secrets, no_process_of_a_run_shows_it_and_its_command_does_not_know_it) {
  for (const Way way : ways) {
    SCOPED_TRACE(static_cast<int>(way));
    Process process =
        start(given(way, secret_url(), {"run", "k", "--", "sh", "-c", "echo held; env; exec sleep 1000"}));
    ASSERT_TRUE(process.await_out("held\n")) << process.err();
    ASSERT_TRUE(await([&] { return command_of(process.pid()) != 0; }));
    const std::vector<pid_t> all = session_of(process.pid());
    EXPECT_GE(all.size(), 3u) << "main, guard and command";
    for (const pid_t pid : all) {
      for (const char* const file : {"cmdline", "environ", "comm", "status"})
        EXPECT_THAT(proc_file(pid, file), Not(HasSubstr(canary))) << file;
    }
    process.signal(SIGTERM);
    process.wait();
    expect_nothing_in({0, process.out(), process.err()});
  }
}

TEST_F(Secrets, no_process_of_a_worker_shows_it_and_its_programs_do_not_know_it) {
  std::ofstream(path("program")) << "#!/bin/sh\nenv; echo begun; exec sleep 1000\n";
  ::chmod(path("program").c_str(), 0700);
  for (const Way way : ways) {
    SCOPED_TRACE(static_cast<int>(way));
    ASSERT_EQ(holdfast(given(way, secret_url(), {"jobs", "enqueue", "X", "--limit", "0"})).code, 0);
    Process process =
        start(given(way, secret_url(), {"jobs", "work", "--exec", path("program"), "--grace", "0s"}));
    ASSERT_TRUE(process.await_out("begun\n")) << process.err();
    const std::vector<pid_t> all = session_of(process.pid());
    EXPECT_GE(all.size(), 4u) << "worker, nursery, guard and program";
    for (const pid_t pid : all) {
      for (const char* const file : {"cmdline", "environ", "comm", "status"})
        EXPECT_THAT(proc_file(pid, file), Not(HasSubstr(canary))) << file;
    }
    process.signal(SIGTERM);
    EXPECT_EQ(process.wait(), 0);
    expect_nothing_in({0, process.out(), process.err()});
  }
}

TEST_F(Secrets, no_command_says_it_whatever_happens) {
  const std::vector<Words> commands = {{"ls"},
                                       {"show", "k"},
                                       {"acquire", "k", "--owner", "me"},
                                       {"renew", "k", "--owner", "me"},
                                       {"release", "k", "--owner", "me"},
                                       {"run", "k", "true"},
                                       {"wait", "k"},
                                       {"init"},
                                       {"init", "--dry-run"},
                                       {"purge"},
                                       {"break", "k", "--token", "1", "--reason", "x"},
                                       {"help"},
                                       {"version"}};
  std::ofstream(path("letter password=") + canary)
      << "this is a letter and not a database, and not a short one";
  std::string unreadable = "sqlite:" + path("letter password=") + canary;
  for (const std::string& url :
       {secret_url(), unreadable, std::string("postgres://me:") + canary + "@127.0.0.1:1/db",
        std::string("redis://:") + canary + "@127.0.0.1:1",
        std::string("mongodb://me:") + canary + "@127.0.0.1:1/db",
        std::string("mariadb://me:") + canary + "@127.0.0.1:1/db",
        std::string("mysql://127.0.0.1:1/d?password=") + canary, std::string("nonsense password=") + canary,
        std::string("sqlite:x.db?token=") + canary}) {
    for (const Words& words : commands) {
      for (const Way way : {Way::option, Way::option_with_equals, Way::environment}) {
        SCOPED_TRACE(url + " " + words.front());
        expect_nothing_in(holdfast(given(way, url, words)));
        Words json = words;
        json.insert(json.begin() + 1, "--json");
        expect_nothing_in(holdfast(given(way, url, json)));
      }
    }
  }
}

TEST_F(Secrets, a_mistake_beside_it_does_not_show_it) {
  const std::string url = std::string("postgres://me:") + canary + "@127.0.0.1:1/db";
  for (const Words& words :
       {Words{"--stoer", url, "ls"}, Words{"ls", url, "more"}, Words{url}, Words{"run", "--store", url},
        Words{"--store", url, "frobnicate"}, Words{"run", "k", "--ttl", url, "true"},
        Words{"run", "-w", url, "k", "true"}, Words{"run", "-E", url, "k", "true"},
        Words{"ls", "--sort", url}, Words{"break", "k", "--token", url, "--reason", "x"}, Words{"help", url},
        Words{"purge", "--older-than", url}}) {
    SCOPED_TRACE(::testing::PrintToString(words));
    const Ended ended = holdfast(words);
    EXPECT_NE(ended.code, 0);
    expect_nothing_in(ended);
  }
}

TEST_F(Secrets, a_crash_leaves_no_core_with_it) {
  // CMD's parent is the guard, and its parent the main process: both end as in a crash.
  const std::string crash = "main=$(cut -d' ' -f4 /proc/$PPID/stat); kill -ABRT $main; kill -ABRT $PPID";
  const auto crashed = [&](const std::string& url) {
    environment_["HOLDFAST_STORE"] = url;
    Process process(plan({"bash", "-c", "ulimit -c unlimited; \"$@\"; exit $?", "bash", HOLDFAST_BINARY,
                          "run", "k", "--", "sh", "-c", crash}));
    EXPECT_EQ(process.wait(), 128 + SIGABRT) << process.err();
    return process.err();
  };
  if (crashed("sqlite:" + path("plain.db")).find("core dumped") == std::string::npos)
    GTEST_SKIP() << "this machine writes no cores at all, so nothing can be shown";
  EXPECT_THAT(crashed(secret_url()), Not(HasSubstr("core dumped")));
}

TEST_F(Secrets, a_file_that_others_can_read_is_refused_if_it_holds_one) {
  for (const mode_t mode : {0640u, 0604u, 0620u}) {
    const Ended ended = holdfast({"--store", secret_file(mode), "ls"});
    EXPECT_EQ(ended.code, 77);
    EXPECT_THAT(ended.err, HasSubstr(path("url")));
    EXPECT_THAT(ended.err, HasSubstr("chmod 600"));
    expect_nothing_in(ended);
  }
  EXPECT_EQ(holdfast({"--store", secret_file(0400), "ls"}).code, 0);
}

TEST_F(Secrets, a_file_without_one_may_be_read_by_all) {
  std::ofstream(path("url")) << "sqlite:" << path("from a file.db") << "\r\n";
  ::chmod(path("url").c_str(), 0644);
  EXPECT_EQ(holdfast({"--store", "@" + path("url"), "run", "k", "true"}).code, 0);
  EXPECT_TRUE(exists("from a file.db"));
}

TEST_F(Secrets, a_file_that_says_nothing_is_refused_and_named) {
  std::ofstream(path("empty")) << "\n";
  for (const char* const name : {"empty", "missing", "."}) {
    const Ended ended = holdfast({"--store", "@" + path(name), "ls"});
    EXPECT_EQ(ended.code, 77);
    EXPECT_THAT(ended.err, HasSubstr(path(name)));
  }
}

}  // namespace
}  // namespace holdfast::test
