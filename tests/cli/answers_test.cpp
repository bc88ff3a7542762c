// SPDX-License-Identifier: Apache-2.0
// Answers are for programs: a row is printed unchanged, whatever the passwords are.
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "base/time.h"
#include "tests/cli/home.h"

namespace holdfast::test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using Json = nlohmann::json;

class Answers : public Home {
 protected:
  // Of a store that is not used, so that the one that is needs none.
  void know_password(const std::string& password) const {
    std::filesystem::create_directories(path(".config/holdfast"));
    std::ofstream(path(".config/holdfast/config.toml"))
        << "[stores]\nother = { url = 'redis://me@127.0.0.1:1', password = '" << password << "' }\n";
    ::chmod(path(".config/holdfast/config.toml").c_str(), 0600);
  }
};

TEST_F(Answers, tell_rows_as_they_are_also_if_a_password_is_in_them) {
  // How every token begins, for some years.
  const std::string digits = std::to_string(wall_now().time_since_epoch().count()).substr(0, 4);
  for (const std::string& password :
       {std::string("backup"), std::string("nightly/backup"), std::string("ann of ops"), digits,
        std::string("null"), std::string("holdfast"), std::string("\"key\""), std::string("token\":")}) {
    SCOPED_TRACE(password);
    know_password(password);
    const Ended acquired =
        holdfast({"acquire", "nightly/backup", "--owner", "ann of ops", "--note", "\"key\" 17", "--json"});
    ASSERT_EQ(acquired.code, 0) << acquired.err;
    const Json lease = Json::parse(acquired.out, nullptr, false);
    ASSERT_TRUE(lease.is_object()) << acquired.out;
    EXPECT_EQ(lease["key"], "nightly/backup");
    EXPECT_EQ(lease["owner"], "ann of ops");

    const Ended listed = holdfast({"ls", "--json"});
    const Json row = Json::parse(listed.out, nullptr, false);
    ASSERT_TRUE(row.is_object()) << listed.out;
    EXPECT_EQ(row["key"], "nightly/backup");
    EXPECT_EQ(row["owner"], "ann of ops");
    EXPECT_EQ(row["token"], lease["token"]);
    EXPECT_EQ(row["note"], "\"key\" 17");
    EXPECT_THAT(holdfast({"ls"}).out, HasSubstr("nightly/backup"));
    EXPECT_THAT(holdfast({"show", "nightly/backup"}).out, HasSubstr("ann of ops"));
    Process watching = start({"watch", "--json"});
    EXPECT_TRUE(watching.await_out("\"nightly/backup\"")) << watching.out() << watching.err();

    EXPECT_EQ(holdfast({"release", "nightly/backup", "--owner", lease["owner"]}).code, 0);
  }
}

TEST_F(Answers, tell_statements_as_they_are_also_if_a_password_is_in_them) {
  const Words plan{"init", "--dry-run", "--store", "sqlite:" + path("new.db")};
  const std::string sql = holdfast(plan).out;
  ASSERT_THAT(sql, HasSubstr("holdfast_waiters"));
  know_password("holdfast");
  EXPECT_EQ(holdfast(plan).out, sql);
}

// One with a quote is another text in JSON.
TEST_F(Answers, of_config_hold_no_password_that_a_mistake_shows) {
  for (const char* const password : {"hunter2-canary", "hunter2\"canary"}) {
    SCOPED_TRACE(password);
    know_password(password);
    const Ended ended = holdfast({"config", "--json", "--store", password});
    EXPECT_NE(ended.code, 0);
    EXPECT_THAT(ended.out, HasSubstr("***"));
    EXPECT_THAT(ended.out + ended.err, Not(HasSubstr("hunter2")));
    EXPECT_THAT(ended.out + ended.err, Not(HasSubstr("canary")));
  }
}

// -- that cannot be written

// What a shell does to stdout, behind the command.
class Unheard : public Home {
 protected:
  Ended in_shell(const std::string& words) const {
    Process process(plan({"sh", "-c", HOLDFAST_BINARY " " + words}));
    const int code = process.wait();
    return {code, process.out(), process.err()};
  }
};

TEST_F(Unheard, an_answer_to_a_closed_stdout_is_77_and_acquire_gives_back) {
  ASSERT_EQ(holdfast({"acquire", "held", "--owner", "me", "--ttl", "1h"}).code, 0);
  for (const char* const words : {"acquire k --ttl 5m", "acquire k --ttl 5m --json", "ls", "ls --watch",
                                  "show k", "watch", "config", "renew held --owner me", "explain held",
                                  "jobs enqueue Some", "version", "help", "completions bash"}) {
    SCOPED_TRACE(words);
    for (const char* const closed : {" >&-", " 1</dev/null"}) {
      const Ended ended = in_shell(std::string(words) + closed);
      EXPECT_EQ(ended.code, 77);
      EXPECT_EQ(ended.err, "holdfast: cannot write the answer: stdout is not open for writing\n");
      EXPECT_TRUE(is_free("k"));
    }
  }
}

TEST_F(Unheard, a_command_without_an_answer_does_not_need_stdout) {
  EXPECT_EQ(in_shell("wait k >&-").code, 0);
  EXPECT_EQ(in_shell("run k -- sh -c 'echo to nowhere' >&-").code, 0);
  EXPECT_EQ(in_shell("fence f 7 -- sh -c 'echo to nowhere' >&-").code, 0);
}

// The lease is given back in between, and calls of the system with it.
TEST_F(Unheard, an_answer_that_cannot_be_written_fails_with_the_reason_of_the_system) {
  for (int i = 0; i < 8; ++i) {
    const Ended ended = in_shell("acquire k >/dev/full");
    EXPECT_EQ(ended.code, 77);
    EXPECT_EQ(ended.err, "holdfast: cannot write the answer: No space left on device\n");
    EXPECT_TRUE(is_free("k"));
  }
  EXPECT_EQ(in_shell("completions bash >/dev/full").err,
            "holdfast: cannot write the answer: No space left on device\n");
}

// A process that shares our stdout may have set O_NONBLOCK: a full pipe is no failure.
TEST_F(Answers, wait_for_a_reader_who_is_slow_and_whose_pipe_does_not_block) {
  const std::string note(900, 'n');
  for (int i = 0; i < 8; ++i)
    ASSERT_EQ(holdfast({"acquire", "k" + std::to_string(i), "--note", note}).code, 0);
  int fds[2];
  ASSERT_EQ(::pipe2(fds, O_CLOEXEC | O_NONBLOCK), 0);
  const Fd reading(fds[0]);
  Fd writing(fds[1]);
  ASSERT_GT(::fcntl(writing.get(), F_SETPIPE_SZ, 4096), 0);
  Process::Plan what = holdfast_plan({"watch", "--json"});
  what.out = writing.get();
  Process watching(what);
  writing.reset();
  const auto is_full_but_for_a_line = [&] {
    int there = 0;
    return ::ioctl(reading.get(), FIONREAD, &there) == 0 && there > 4096 - 1300;
  };
  ASSERT_TRUE(await([&] { return watching.has_ended() || is_full_but_for_a_line(); }));
  std::string text;
  EXPECT_TRUE(await([&] {
    char buffer[512];
    const ssize_t got = ::read(reading.get(), buffer, sizeof buffer);
    if (got > 0) text.append(buffer, static_cast<std::size_t>(got));
    return text.find("\"k7\"") != std::string::npos || watching.has_ended();
  })) << text;
  EXPECT_THAT(text, HasSubstr("\"k7\"")) << watching.err();
  EXPECT_FALSE(watching.has_ended()) << watching.err();
}

}  // namespace
}  // namespace holdfast::test
