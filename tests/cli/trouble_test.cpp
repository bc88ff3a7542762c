// SPDX-License-Identifier: Apache-2.0
// A system that does not give what the command needs, and rights it should not have: one sentence, the right
// code, nothing half done.
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>

#include "tests/cli/home.h"

namespace holdfast::test {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::StartsWith;

template <class Base>
class Troubled : public Base {
 protected:
  using Words = std::vector<std::string>;

  Ended run(const Words& command) const {
    Process process(this->plan(command));
    const int code = process.wait();
    return {code, process.out(), process.err()};
  }
  static Words joined(Words first, const Words& then) {
    first.insert(first.end(), then.begin(), then.end());
    return first;
  }
  void expect_one_sentence(const Ended& ended, int code, const std::string& word) const {
    EXPECT_EQ(ended.code, code) << ended.err;
    EXPECT_EQ(ended.out, "");
    EXPECT_THAT(ended.err, StartsWith("holdfast: "));
    EXPECT_EQ(std::count(ended.err.begin(), ended.err.end(), '\n'), 1) << ended.err;
    EXPECT_THAT(ended.err, HasSubstr(word));
  }
  std::size_t fifos() const {
    const std::string folder = this->path(".local/state/holdfast/leases.db.d");
    if (!fs::exists(folder)) return 0;
    return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder), {}));
  }
};

using Trouble = Troubled<Home>;
using TroubleOn = Troubled<HomeOn>;

TEST_P(TroubleOn, without_descriptors_each_command_fails_clearly_until_there_are_enough) {
  holdfast({"init"});
  for (const Words& words : std::vector<Words>{
           {"ls"}, {"acquire", "-n", "k", "--owner", "me"}, {"run", "-n", "j", "--", "true"}}) {
    SCOPED_TRACE(words.front());
    int failures = 0;
    for (int most = 4;; ++most) {
      SCOPED_TRACE(most);
      const std::string limit = "--nofile=" + std::to_string(most) + ":" + std::to_string(most);
      const Ended ended = run(joined({"prlimit", limit, HOLDFAST_BINARY}, words));
      if (ended.code == 127) continue;  // not even its libraries could be opened
      if (ended.code == 0) break;
      // Once CMD's process is made, it is CMD that cannot be run.
      expect_one_sentence(ended, ended.code == 126 ? 126 : 69, "Too many open files");
      EXPECT_EQ(fifos(), 0u);
      ++failures;
      ASSERT_LT(most, 60);
    }
    const bool looks = words.front() == "ls";  // that takes few; at a server it may be just one
    EXPECT_GE(failures, is_server() ? (looks ? 0 : 5) : (looks ? 4 : 11));
  }
  EXPECT_TRUE(is_free("j"));
  EXPECT_FALSE(is_free("k"));
}

// MongoDB's driver keeps a file for each process; one that was killed while it was loaded leaves it behind.
TEST_P(TroubleOn, files_of_a_dead_process_with_our_pid_are_not_reported) {
  holdfast({"init"});
  for (const char* words : {" acquire -n k --owner me", " version --verbose"}) {
    const Ended ended =
        run({"sh", "-c", "touch /dev/shm/mongoc-$$ && exec " HOLDFAST_BINARY + std::string(words)});
    EXPECT_EQ(ended.code, 0);
    EXPECT_EQ(ended.err, "");
  }
}

// Threads are what takes the most of it.
TEST_P(TroubleOn, without_memory_no_command_leaves_a_lease_behind) {
  holdfast({"init"});
  for (const Words& words : std::vector<Words>{{"run", "-n", "j", "--ttl", "1h", "--", "true"},
                                               {"acquire", "-n", "k", "--ttl", "1h"}}) {
    SCOPED_TRACE(words.front());
    int failures = 0;
    for (int megabytes = 10;; ++megabytes) {
      SCOPED_TRACE(megabytes);
      const std::string limit = "--as=" + std::to_string(megabytes) + "000000";
      const Ended ended = run(joined({"prlimit", limit, HOLDFAST_BINARY}, words));
      if (ended.code == 0) break;
      // MongoDB's driver ends the process itself.
      const bool by_driver = GetParam().name == "mongodb" && ended.code == 128 + SIGABRT;
      EXPECT_THAT(by_driver ? 69 : ended.code, ::testing::AnyOf(69, 77, 126, 127)) << ended.err;
      EXPECT_EQ(holdfast({"ls", "--json"}).out, "") << ended.err;
      failures += ended.code == 69;
      ASSERT_LT(megabytes, 500);
    }
    EXPECT_GT(failures, 3);
  }
}

TEST_F(Trouble, without_threads_no_command_leaves_a_lease_behind) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can be a user who has no other processes";
  const uid_t user = 100'000 + static_cast<uid_t>(::getpid());
  const std::string id = std::to_string(user);
  fs::copy_file(HOLDFAST_BINARY, path("holdfast"));
  ASSERT_EQ(::chown(path("").c_str(), user, user), 0);
  const Words as_user{"setpriv", "--reuid=" + id, "--regid=" + id, "--clear-groups"};
  // A dead guard counts for the user until somebody has waited for it: we do.
  ASSERT_EQ(::prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
  for (const Words& words : std::vector<Words>{{"run", "-n", "j", "--ttl", "1h", "--", "true"},
                                               {"acquire", "-n", "k", "--ttl", "1h"}}) {
    SCOPED_TRACE(words.front());
    int failures = 0;
    for (int most = 1;; ++most) {
      SCOPED_TRACE(most);
      const std::string limit = "--nproc=" + std::to_string(most);
      const Ended ended = run(joined(joined(as_user, {"prlimit", limit, path("holdfast")}), words));
      while (::waitpid(-1, nullptr, 0) > 0) continue;
      if (ended.code == 0) break;
      // Once CMD's process is made, it is CMD that cannot be run.
      expect_one_sentence(ended, ended.code == 126 ? 126 : 69, "Resource temporarily unavailable");
      EXPECT_EQ(run(joined(as_user, {path("holdfast"), "ls", "--json"})).out, "");
      ++failures;
      ASSERT_LT(most, 60);
    }
    EXPECT_GT(failures, 2);
  }
  EXPECT_EQ(::prctl(PR_SET_CHILD_SUBREAPER, 0), 0);
}

TEST_F(Trouble, a_full_disk_is_69_and_nothing_acknowledged_is_lost) {
  fs::create_directory(path("disk"));
  if (run({"unshare", "-m", "mount", "-t", "tmpfs", "none", path("disk")}).code != 0)
    GTEST_SKIP() << "the system does not let us mount";
  environment_["HOLDFAST_STORE"] = "sqlite:" + path("disk/leases.db");
  environment_["HOLDFAST"] = HOLDFAST_BINARY;
  // Takes keys until one fails; with room again each must still be held, with its token.
  const std::string script = R"sh(
      mount -t tmpfs -o size=200k,mode=700 none disk || exit 1
      note=$(printf %4000d 0)
      taken=0
      while [ $taken -lt 500 ]; do
        "$HOLDFAST" acquire -n --owner me --note "$note" "key $taken" >answer 2>error || break
        cat answer >>tokens; taken=$((taken + 1))
      done
      "$HOLDFAST" acquire -n --owner me --note "$note" "key $taken" 2>error
      echo "$? $(wc -l <error)"; cat error >&2
      mount -o remount,size=8m disk || exit 2
      i=0
      while [ $i -lt $taken ]; do
        "$HOLDFAST" acquire -n --owner you "key $i" 2>/dev/null && exit 3
        "$HOLDFAST" acquire -n --owner me "key $i" >>again || exit 4
        i=$((i + 1))
      done
      cmp tokens again || exit 5
      [ $taken -gt 2 ] || exit 6
      "$HOLDFAST" acquire -n new >/dev/null || exit 7
  )sh";
  const Ended ended = run({"unshare", "-m", "sh", "-c", script});
  EXPECT_EQ(ended.code, 0) << ended.out << ended.err;
  EXPECT_EQ(ended.out, "69 1\n");
  EXPECT_THAT(ended.err, StartsWith("holdfast: "));
  EXPECT_THAT(ended.err, HasSubstr(path("disk/leases.db")));
  EXPECT_THAT(ended.err, HasSubstr("No space left on device"));
}

TEST_F(Trouble, a_place_that_is_not_to_be_trusted_is_77) {
  fs::create_directory(path("open"));
  fs::permissions(path("open"), fs::perms::all);
  expect_one_sentence(holdfast({"--store", "sqlite:open/leases.db", "init"}), 77, "every user may write ");
  fs::create_symlink("elsewhere.db", path("link.db"));
  expect_one_sentence(holdfast({"--store", "sqlite:link.db", "run", "k", "true"}), 77, "symbolic link");
  EXPECT_TRUE(fs::is_empty(path("open")));
  EXPECT_FALSE(exists("elsewhere.db"));
}

TEST_F(Trouble, a_path_is_shown_escaped) {
  std::ofstream(path("\x1b[31m.db")) << "not a database";
  const Ended ended = holdfast({"--store", "sqlite:\x1b[31m.db", "ls"});
  expect_one_sentence(ended, 77, "\\x1b[31m.db is not a Holdfast database");
  EXPECT_EQ(ended.err.find('\x1b'), std::string::npos);
}

TEST_F(Trouble, unsafe_is_allowed_by_that_word_only) {
  EXPECT_EQ(holdfast({"--store", "sqlite:leases.db?unsafe=allow", "ls"}).code, 0);
  expect_one_sentence(holdfast({"--store", "sqlite:leases.db?unsafe=yes", "ls"}), 64, "unsafe=allow");
}

// With the bit set and another's rights the command does nothing at all: its environment is the caller's.
TEST_F(Trouble, set_user_id_and_set_group_id_are_refused) {
  struct statvfs place {};
  ASSERT_EQ(::statvfs(path("").c_str(), &place), 0);
  if (::geteuid() != 0 || ::prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 0 || (place.f_flag & ST_NOSUID) != 0)
    GTEST_SKIP() << "only root can give a program away, and only where the system minds the bits";
  const std::string program = path("holdfast");
  fs::copy_file(HOLDFAST_BINARY, program);
  fs::permissions(path(""), fs::perms(0755));
  const Words as_nobody{"setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", program, "version"};
  for (const mode_t bit : {mode_t{S_ISUID}, mode_t{S_ISGID}}) {
    ASSERT_EQ(::chmod(program.c_str(), 0755 | bit), 0);
    expect_one_sentence(run(as_nobody), 77, "set-user-id");
  }
  ASSERT_EQ(::chmod(program.c_str(), 0755), 0);
  EXPECT_EQ(run(as_nobody).code, 0) << "without the bits it runs";
}

HOLDFAST_ON_EVERY_SHARED_STORE(TroubleOn);

}  // namespace
}  // namespace holdfast::test
