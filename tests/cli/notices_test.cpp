// SPDX-License-Identifier: Apache-2.0
// Warnings about how a store is set up: with a remedy, and not with every run.
#include <fcntl.h>
#include <sys/stat.h>

#include "tests/cli/home.h"
#include "tests/support/servers/redis_server.h"

namespace holdfast::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class Notices : public Home {
 protected:
  Notices() {
    environment_["HOLDFAST_STORE"] = server_.url();
    environment_["TMPDIR"] = path("nowhere");
  }

  // What a run of CMD prints on stderr.
  std::string said_by(const Words& options = {}) const {
    Words words{"run"};
    words.insert(words.end(), options.begin(), options.end());
    words.insert(words.end(), {"k", "--", "true"});
    const Ended ended = holdfast(words);
    EXPECT_EQ(ended.code, 0) << ended.err;
    return ended.err;
  }
  std::string folder() const { return path(".local/state/holdfast/told"); }
  // Of the only thing that was remembered.
  void set_age(std::chrono::seconds age) const {
    for (const auto& stamp : std::filesystem::directory_iterator(folder()))
      std::filesystem::last_write_time(stamp, std::filesystem::file_time_type::clock::now() - age);
  }

  const RedisServer server_{{.lines = {"appendonly no"}}};
};

TEST_F(Notices, name_the_store_and_the_cure_once_a_day) {
  EXPECT_THAT(said_by(), AllOf(StartsWith("holdfast: " + server_.url() + ": "), HasSubstr("append-only file"),
                               HasSubstr("; set appendonly yes, or "), HasSubstr("accept=redis.appendonly")));
  EXPECT_EQ(said_by(), "") << "the same day";
  EXPECT_EQ(holdfast({"acquire", "other"}).err, "") << "by another command";
  EXPECT_EQ(holdfast({"jobs", "enqueue", "J"}).err, "");
  Process owner = hold("busy");
  EXPECT_EQ(holdfast({"run", "-n", "-E", "0", "busy", "--", "true"}).err, "") << "one that is skipped";
  set_age(std::chrono::hours(25));
  EXPECT_THAT(said_by(), HasSubstr("append-only file")) << "the next day";
  EXPECT_EQ(said_by(), "");
  set_age(std::chrono::hours(-1));
  EXPECT_THAT(said_by(), HasSubstr("append-only file")) << "the clock was set";
}

TEST_F(Notices, are_not_given_to_who_wants_quiet_and_then_count_as_not_given) {
  EXPECT_EQ(said_by({"--quiet"}), "");
  EXPECT_THAT(said_by(), HasSubstr("append-only file"));
  EXPECT_EQ(holdfast({"--quiet", "run", "k"}).code, 64) << "what failed is told all the same";
}

TEST_F(Notices, of_what_the_url_accepts_are_not_given) {
  environment_["HOLDFAST_STORE"] += "?accept=redis.appendonly";
  EXPECT_EQ(said_by(), "");
  EXPECT_FALSE(exists(".local/state/holdfast/told"));
}

TEST_F(Notices, are_remembered_only_where_nobody_else_can_write) {
  ASSERT_NE(said_by(), "");
  struct stat made {};
  ASSERT_EQ(::stat(folder().c_str(), &made), 0);
  EXPECT_EQ(made.st_mode & 0777, 0700u);
  ASSERT_EQ(::chmod(folder().c_str(), 0777), 0);
  EXPECT_NE(said_by(), "") << "anybody could have put a stamp there";
  std::filesystem::remove_all(folder());
  std::ofstream(folder()) << "no folder";
  EXPECT_NE(said_by(), "");
  EXPECT_NE(said_by(), "") << "who cannot write tells again";
  std::filesystem::remove(folder());
  ASSERT_EQ(::chmod(path(".local/state/holdfast").c_str(), 0777), 0);
  EXPECT_NE(said_by(), "");
  EXPECT_FALSE(std::filesystem::exists(folder())) << "nothing is made there";
}

TEST_F(Notices, are_remembered_for_the_session_where_there_is_no_folder_for_state) {
  environment_["HOME"] = "/dev/null";
  EXPECT_NE(said_by(), "");
  EXPECT_NE(said_by(), "") << "there is nowhere to remember it";
  environment_["XDG_RUNTIME_DIR"] = path("session");
  std::filesystem::create_directory(path("session"));
  ASSERT_EQ(::chmod(path("session").c_str(), 0777), 0);
  EXPECT_NE(said_by(), "");
  EXPECT_NE(said_by(), "") << "anybody could have put a stamp there";
  ASSERT_EQ(::chmod(path("session").c_str(), 0700), 0);
  EXPECT_NE(said_by(), "");
  EXPECT_EQ(said_by(), "");
  EXPECT_TRUE(exists("session/holdfast/told"));
}

// As a job of cron's whose account has no home.
TEST_F(Notices, are_remembered_in_the_folder_for_temporary_files_where_there_is_no_other) {
  environment_["HOME"] = "/dev/null";
  environment_["TMPDIR"] = path("tmp");
  const std::string own = path("tmp") + "/holdfast-" + std::to_string(::geteuid());
  std::filesystem::create_directory(path("tmp"));
  ASSERT_EQ(::chmod(path("tmp").c_str(), 0777), 0);
  EXPECT_NE(said_by(), "");
  EXPECT_FALSE(std::filesystem::exists(own)) << "without the sticky bit anybody could take it away";
  ASSERT_EQ(::chmod(path("tmp").c_str(), 01777), 0);
  EXPECT_NE(said_by(), "");
  EXPECT_EQ(said_by(), "");
  struct stat made {};
  ASSERT_EQ(::stat(own.c_str(), &made), 0);
  EXPECT_EQ(made.st_mode & 0777, 0700u);
  ASSERT_EQ(::chmod(own.c_str(), 0777), 0);
  EXPECT_NE(said_by(), "") << "anybody could have put a stamp there";
  std::filesystem::remove_all(own);
  std::filesystem::create_directory(path("trap"));
  std::filesystem::create_directory_symlink(path("trap"), own);
  EXPECT_NE(said_by(), "");
  EXPECT_NE(said_by(), "");
  EXPECT_TRUE(std::filesystem::is_empty(path("trap"))) << "another user may have put the link there";
}

TEST_F(Notices, of_another_user_are_no_reason_to_be_silent) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can make a folder of another";
  environment_["HOME"] = "/dev/null";
  environment_["TMPDIR"] = path("tmp");
  const std::string own = path("tmp") + "/holdfast-0";
  std::filesystem::create_directories(own);
  ASSERT_EQ(::chmod(path("tmp").c_str(), 01777), 0);
  ASSERT_EQ(::chown(own.c_str(), 65534, 65534), 0);
  EXPECT_NE(said_by(), "");
  EXPECT_NE(said_by(), "");
  EXPECT_TRUE(std::filesystem::is_empty(own));
}

TEST_F(Notices, leave_nothing_of_roots_in_the_home_of_a_user) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can have the home of another";
  ASSERT_EQ(::chown(path("").c_str(), 65534, 65534), 0);
  EXPECT_NE(said_by(), "");
  EXPECT_FALSE(exists(".local"));
}

}  // namespace
}  // namespace holdfast::test
