// SPDX-License-Identifier: Apache-2.0
// A password that we were given is seen by nobody else: a canary is planted, and looked for everywhere.
#include "tests/cli/secrets.h"

#include <unistd.h>

#include <csignal>

#include "tests/support/file_lock.h"

namespace holdfast::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

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
    EXPECT_GE(all.size(), 4u) << "worker, fork server, guard and program";
    for (const pid_t pid : all) {
      for (const char* const file : {"cmdline", "environ", "comm", "status"})
        EXPECT_THAT(proc_file(pid, file), Not(HasSubstr(canary))) << file;
    }
    process.signal(SIGTERM);
    EXPECT_EQ(process.wait(), 0);
    expect_nothing_in({0, process.out(), process.err()});
  }
}

TEST_F(Secrets, fence_hands_no_password_on_and_shows_none_while_it_waits) {
  environment_["HOLDFAST_STORE"] = std::string("redis://:") + canary + "@127.0.0.1:1/";
  const Ended ended = holdfast({"fence", "doc", "5", "--", "env"});
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_THAT(ended.out, HasSubstr("HOLDFAST_STORE=redis://:***@127.0.0.1:1/\n"));
  expect_nothing_in(ended);
  Process inside = start({"fence", "doc", "5", "--", "sh", "-c", "echo inside; exec sleep 1000"});
  ASSERT_TRUE(inside.await_out("inside\n")) << inside.err();
  Process waiting = start({"fence", "doc", "6", "--", "true"});
  ASSERT_TRUE(await([&] { return is_waited_for(path(".doc.fence")); }));
  for (const pid_t pid : {inside.pid(), waiting.pid()}) {
    for (const char* const file : {"cmdline", "environ"})
      EXPECT_THAT(proc_file(pid, file), Not(HasSubstr(canary))) << file;
  }
  inside.signal(SIGTERM);
  EXPECT_EQ(waiting.wait(), 0) << waiting.err();
}

TEST_F(Secrets, fence_asks_no_store_and_takes_none) {
  const std::string url = std::string("redis://:") + canary + "@127.0.0.1:1/";
  for (const Words& words : {Words{"fence", "--store", url, "-w", "1s", "doc", "6", "--", "true"},
                             Words{"--store=" + url, "fence", "doc", "6", "--", "true"}}) {
    const Ended ended = holdfast(words);
    EXPECT_EQ(ended.code, 64);
    EXPECT_THAT(ended.err, HasSubstr("--store is not for fence"));
    expect_nothing_in(ended);
  }
}

TEST_F(Secrets, of_several_stores_every_one_is_hidden_and_the_last_one_holds) {
  const std::string other = std::string("redis://:other-") + canary + "@127.0.0.1:1/";
  Process process = start({"--store", other, "run", "--store=" + other, "--store",
                           "sqlite:" + path("last.db"), "k", "--", "sh", "-c", "echo held; exec sleep 1000"});
  ASSERT_TRUE(process.await_out("held\n")) << process.err();
  for (const pid_t pid : session_of(process.pid()))
    EXPECT_THAT(proc_file(pid, "cmdline"), Not(HasSubstr(canary)));
  EXPECT_THAT(process.err(), HasSubstr("--store contains a password"));
  EXPECT_TRUE(exists("last.db"));
  process.signal(SIGTERM);
  process.wait();
  expect_nothing_in({0, process.out(), process.err()});
}

// All of a process in /proc is root's as soon as nobody may look into it, nor dump it.
class SecretsOfAUser : public Secrets {
 protected:
  // Root sees no difference, and is somebody else here.
  static constexpr uid_t nobody = 65534;
  static uid_t user() { return ::geteuid() == 0 ? nobody : ::geteuid(); }
  void SetUp() override { std::filesystem::copy_file(HOLDFAST_BINARY, path("holdfast")); }
  static uid_t owner_of(pid_t pid) {
    struct stat found {};
    return ::stat(("/proc/" + std::to_string(pid) + "/environ").c_str(), &found) == 0 ? found.st_uid : ~0U;
  }
  // Of `run` with these words before it, and of its guard.
  std::vector<uid_t> owners(Words before) const {
    Words words{path("holdfast")};
    if (::geteuid() == 0) {
      give_away();
      words.insert(words.begin(), {"setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"});
    }
    words.insert(words.end(), before.begin(), before.end());
    words.insert(words.end(), {"run", "k", "--", "sh", "-c", "echo held; exec sleep 1000"});
    Process process(plan(words));
    EXPECT_TRUE(process.await_out("held\n")) << process.err();
    EXPECT_NE(guard_of(process.pid()), 0);
    return {owner_of(process.pid()), owner_of(guard_of(process.pid()))};
  }

 private:
  void give_away() const {
    EXPECT_EQ(::chown(path("").c_str(), nobody, nobody), 0);
    for (const auto& file : std::filesystem::recursive_directory_iterator(path("")))
      EXPECT_EQ(::lchown(file.path().c_str(), nobody, nobody), 0) << file.path();
  }
};

TEST_F(SecretsOfAUser, nobody_can_look_into_the_processes_that_know_it_and_they_leave_no_core) {
  ASSERT_THAT(owners({"--store", "sqlite:" + path("plain.db")}), ElementsAre(user(), user()))
      << "else nothing can be told";
  for (const Way way : ways) {
    SCOPED_TRACE(static_cast<int>(way));
    EXPECT_THAT(owners(given(way, secret_url(), {})), ElementsAre(0U, 0U));
  }
  // Also of a store that is not used: the file was read all the same.
  forget();
  configure("store = '" + ("sqlite:" + path("plain.db")) + "'\n[stores]\nother = '" + secret_url() + "'\n");
  EXPECT_THAT(owners({}), ElementsAre(0U, 0U));
}

// The same by its effect, where cores are written.
TEST_F(Secrets, a_crash_leaves_no_core_with_it) {
  // CMD's parent is the guard, and its parent the main process: both end as in a crash.
  const std::string crash = "main=$(cut -d' ' -f4 /proc/$PPID/stat); kill -ABRT $main; kill -ABRT $PPID";
  const auto crashed = [&](Way way, const std::string& url) {
    Words words{"bash", "-c", "ulimit -c unlimited; \"$@\"; exit $?", "bash", HOLDFAST_BINARY};
    const Words command = given(way, url, {"run", "k", "--", "sh", "-c", crash});
    words.insert(words.end(), command.begin(), command.end());
    Process process(plan(words));
    EXPECT_EQ(process.wait(), 128 + SIGABRT) << process.err();
    return process.err();
  };
  if (crashed(Way::option, "sqlite:" + path("plain.db")).find("core dumped") == std::string::npos) return;
  for (const Way way : ways) {
    SCOPED_TRACE(static_cast<int>(way));
    EXPECT_THAT(crashed(way, secret_url()), Not(HasSubstr("core dumped")));
  }
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

// Or two who are in two folders would both hold the key.
TEST_F(Secrets, a_file_means_one_store_in_whatever_folder_one_is) {
  for (const char* const url : {"sqlite:leases.db", "sqlite:./leases.db?table=x", "sqlite:"}) {
    std::ofstream(path("url")) << url << "\n";
    const Ended ended = holdfast({"--store", "@" + path("url"), "run", "k", "touch", "ran"});
    EXPECT_EQ(ended.code, 64) << url;
    EXPECT_THAT(ended.err, HasSubstr("the URL in " + path("url") + " is relative"));
    EXPECT_THAT(ended.err, HasSubstr("sqlite:/PATH"));
  }
  EXPECT_FALSE(exists("ran"));
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
