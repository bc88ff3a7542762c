// SPDX-License-Identifier: Apache-2.0
// Files and folders that somebody else could have put there.
#include <fcntl.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "stores/sqlite/path.h"
#include "tests/sqlite/apart.h"
#include "tests/sqlite/suite.h"
#include "tests/support/findings.h"

namespace holdfast::test {
namespace {

namespace fs = std::filesystem;

constexpr uid_t alice = 12001, bob = 12002;
constexpr gid_t team = 12345;

class Ownership : public SqliteTest {
 protected:
  // "granted", "busy", or why not.
  static std::string take(const std::string& path, std::string_view key = "k") {
    const auto store = store_at(path);
    auto connection = store->connect(soon());
    if (!connection)
      return std::string(to_string(connection.error().code)) + ": " + connection.error().detail;
    const std::string name = owner_name(store->client() + random_hex(16));
    const Request request{.verb = Verb::acquire, .key = {key}, .owner = {name}, .ttl = 1h};
    Reply reply;
    const Status status = (*connection)->apply({&request, 1}, {&reply, 1}, soon());
    if (!status) return std::string(to_string(status.error().code)) + ": " + status.error().detail;
    return reply.verdict == Verdict::granted ? "granted" : "busy";
  }
  static std::string take_as(uid_t user, const std::vector<gid_t>& groups, const std::string& path) {
    return apart([&] {
      become(user, groups);
      ::umask(077);
      return take(path);
    });
  }
  void expect_refused(const std::string& said, const std::string& named, const std::string& word) {
    EXPECT_TRUE(said.starts_with("refused: ")) << said;
    EXPECT_NE(said.find(named), std::string::npos) << said;
    EXPECT_NE(said.find(word), std::string::npos) << said;
  }
  static void mode(const std::string& path, mode_t bits) {
    ASSERT_EQ(::chmod(path.c_str(), bits), 0) << path;
  }
  static mode_t mode_of(const std::string& path) {
    struct stat found {};
    return ::lstat(path.c_str(), &found) == 0 ? found.st_mode & 07777 : 0;
  }
  static void give(const std::string& path, uid_t user, gid_t group) {
    ASSERT_EQ(::lchown(path.c_str(), user, group), 0) << path;
  }
  void make(const std::string& path) { std::ofstream(path).flush(); }

  const std::string& folder() { return scratch_.path(); }
};

// Of another user: only root can make such files.
class Foreign : public Ownership {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "only root can give files to others";
    mode(folder(), 0755);
  }
};

TEST_F(Ownership, links_are_refused_wherever_one_could_be_planted) {
  for (const char* const suffix : {"", "-wal", "-shm", "-journal", ".d"}) {
    SCOPED_TRACE(suffix);
    const std::string path = folder() + "/linked" + suffix + ".db", link = path + suffix;
    make(folder() + "/elsewhere");
    if (*suffix != '\0') make(path);
    fs::create_symlink(folder() + "/elsewhere", link);
    expect_refused(take(path), link, *suffix == '.' ? "not a folder" : "symbolic link");
    EXPECT_EQ(bytes_of(folder() + "/elsewhere"), "");
    EXPECT_TRUE(fs::is_symlink(link));
  }
}

TEST_F(Ownership, a_folder_of_fifos_that_is_a_link_to_a_folder_is_refused) {
  fs::create_directory(folder() + "/elsewhere");
  fs::create_directory_symlink("elsewhere", path_ + ".d");
  expect_refused(take(path_), path_ + ".d", "not a folder");
  EXPECT_TRUE(fs::is_empty(folder() + "/elsewhere"));
}

TEST_F(Ownership, a_second_name_of_a_side_file_is_refused) {
  ASSERT_EQ(take(path_), "granted");
  for (const char* const suffix : {"-wal", "-shm"}) {
    fs::create_hard_link(path_ + suffix, folder() + "/second");
    expect_refused(take(path_), path_ + suffix, "hard links");
    fs::remove(folder() + "/second");
  }
  EXPECT_EQ(take(path_, "another"), "granted");
}

TEST_F(Ownership, what_others_may_write_is_refused) {
  ASSERT_EQ(take(path_), "granted");
  make(path_ + "-journal");
  for (const char* const suffix : {"", "-wal", "-shm", "-journal", ".d"}) {
    const std::string path = path_ + suffix;
    const mode_t before = mode_of(path);
    mode(path, before | S_IWOTH);
    expect_refused(take(path_), path, "can be written by every user");
    mode(path, before);
  }
  EXPECT_EQ(take(path_, "another"), "granted");
}

TEST_F(Ownership, a_folder_that_everybody_writes_is_refused_with_all_below_it) {
  const std::string open = folder() + "/open", below = open + "/below/leases.db";
  fs::create_directory(open);
  mode(open, 0777);
  expect_refused(take(open + "/leases.db"), open, "chmod o-w " + open);
  expect_refused(take(below), open, "chmod o-w " + open);
  EXPECT_TRUE(fs::is_empty(open)) << "nothing was made";
  fs::create_directory(open + "/below");
  expect_refused(take(below), open, "chmod o-w " + open);
  SqliteCaller daring(sqlite::store({.path = below, .allow_unsafe = true}).value());
  EXPECT_TRUE(daring.granted("k"));
  const Traits traits = daring.examine();
  EXPECT_EQ(traits.grade, Grade::D);
  EXPECT_EQ(found(traits).size(), 1u);
}

TEST_F(Ownership, in_a_sticky_folder_our_own_file_is_used_with_a_warning) {
  mode(folder(), 01777);
  SqliteCaller here(path_);
  EXPECT_TRUE(here.granted("k"));
  const Traits traits = here.examine();
  ASSERT_EQ(found(traits).size(), 1u);
  EXPECT_NE(traits.findings[0].advice.find("a folder of its own"), std::string::npos) << found(traits)[0];
  EXPECT_EQ(traits.grade, Grade::B);
  EXPECT_TRUE(found(SqliteCaller(folder() + "/own/leases.db").examine()).empty());
}

TEST_F(Ownership, a_regular_file_in_place_of_a_fifo_is_not_written) {
  SqliteCaller here(path_), waiter(path_);
  ASSERT_TRUE(here.granted("k"));
  ASSERT_TRUE(waiter.queues("k"));
  const std::string stranger = "0123456789abcdef", planted = path_ + ".d/locks." + stranger;
  std::ofstream(planted) << "precious";
  RawDatabase(path_).ask("UPDATE holdfast_waiters SET client = '" + stranger + "'");
  here.release("k");  // notifies the waiters
  EXPECT_EQ(bytes_of(planted), "precious");
  EXPECT_EQ(here.acquire("k").verdict, Verdict::busy) << "unknown is not dead: its time decides";
}

// By a member of the group, who may rename files in a shared folder.
TEST_F(Ownership, a_private_file_that_takes_the_place_of_what_is_made_for_the_group_stays_private) {
  const std::string secret = folder() + "/secret";
  make(secret);
  mode(secret, 0600);
  const int failed = sqlite::make_shared_as(path_, 0660, [&](const std::string& name) {
    Fd made(::open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    fs::rename(secret, name);
    return made;
  });
  EXPECT_EQ(failed, 0);
  EXPECT_EQ(mode_of(path_), 0600u);
}

TEST_F(Foreign, a_file_of_another_user_is_refused_by_everyone_else_and_by_root) {
  ASSERT_EQ(take(path_), "granted");
  for (const char* const suffix : {"", "-wal", "-shm"}) give(path_ + suffix, alice, alice);
  give(path_ + ".d", alice, alice);
  give(folder(), alice, alice);
  EXPECT_EQ(take_as(alice, {}, path_), "busy");
  expect_refused(take_as(bob, {}, path_), folder(), "uid 12001");
  expect_refused(take(path_), folder(), "belongs to another user");
  give(folder(), 0, 0);
  expect_refused(take_as(bob, {}, path_), path_, "uid 12001");
  expect_refused(take(path_), path_, "belongs to another user");
}

TEST_F(Foreign, a_folder_of_another_user_is_refused_with_all_below_it) {
  const std::string theirs = folder() + "/theirs", below = theirs + "/below/leases.db";
  fs::create_directory(theirs);
  fs::create_directory(theirs + "/below");
  give(theirs, alice, alice);
  give(theirs + "/below", bob, bob);
  for (const mode_t bits : {0755u, 01777u}) {  // its owner may rename what lies in it, sticky or not
    mode(theirs, bits);
    expect_refused(take_as(bob, {}, below), theirs, "uid 12001");
    expect_refused(take(theirs + "/new/leases.db"), theirs, "uid 12001");
  }
  EXPECT_TRUE(fs::is_empty(theirs + "/below")) << "nothing was made";
  EXPECT_FALSE(fs::exists(theirs + "/new")) << "nothing was made";
  give(theirs, bob, bob);
  EXPECT_EQ(take_as(bob, {}, below), "granted");
  give(theirs, 0, 0);
  EXPECT_EQ(take_as(bob, {}, below), "granted") << "his process is dead";
}

TEST_F(Foreign, a_file_in_a_folder_of_another_user_is_class_d_if_accepted) {
  give(folder(), alice, alice);
  SqliteCaller daring(sqlite::store({.path = path_, .allow_unsafe = true}).value());
  EXPECT_TRUE(daring.granted("k"));
  const Traits traits = daring.examine();
  EXPECT_EQ(traits.grade, Grade::D);
  ASSERT_EQ(found(traits).size(), 1u);
  EXPECT_NE(found(traits)[0].find("belongs to another user (uid 12001)"), std::string::npos);
}

TEST_F(Foreign, folders_above_may_belong_to_the_user_who_shares_the_folder_and_to_nobody_else) {
  const std::string home = folder() + "/home", shared = home + "/shared", path = shared + "/own/leases.db";
  fs::create_directories(shared);
  give(home, alice, alice);
  give(shared, alice, team);
  mode(shared, 02770);
  EXPECT_EQ(take_as(bob, {team}, path), "granted");
  EXPECT_EQ(take_as(bob, {team}, path), "granted") << "now that the folder is there";
  give(home, 12003, 12003);
  expect_refused(take_as(bob, {team}, path), home, "uid 12003");
}

// Only our user is mapped there: the owners of the folders above are unknown, and root is one of them.
TEST_F(Foreign, in_a_user_namespace_folders_of_unknown_users_are_accepted) {
  const std::string said = apart([&]() -> std::string {
    mode(folder(), 0755);
    const std::string own = folder() + "/own";
    fs::create_directory(own);
    give(own, alice, alice);
    become(alice);
    ::prctl(PR_SET_DUMPABLE, 1);  // else root owns the map
    if (::unshare(CLONE_NEWUSER) != 0) return "no namespaces";
    std::ofstream("/proc/self/uid_map") << "0 12001 1";
    struct stat above {};
    if (::stat(folder().c_str(), &above) != 0 || above.st_uid == 0) return "no namespaces";
    return take(own + "/leases.db");
  });
  if (said == "no namespaces") GTEST_SKIP() << "the system does not let us";
  EXPECT_EQ(said, "granted");
}

TEST_F(Foreign, what_another_user_has_put_beside_our_file_is_refused) {
  ASSERT_EQ(take(path_), "granted");
  for (const char* const suffix : {"-wal", "-shm", "-journal", ".d"}) {
    const std::string planted = path_ + suffix;
    const bool existed = fs::exists(planted);
    if (!existed) make(planted);
    give(planted, bob, bob);
    expect_refused(take(path_), planted, "belongs to another user");
    existed ? give(planted, 0, 0) : void(fs::remove(planted));
  }
  EXPECT_EQ(take(path_, "another"), "granted");
}

TEST_F(Foreign, in_a_sticky_folder_anothers_file_is_refused_also_for_the_group) {
  mode(folder(), 01777);
  ASSERT_EQ(take_as(alice, {team}, path_), "granted");
  give(path_, alice, team);
  mode(path_, 0660);
  expect_refused(take_as(bob, {team}, path_), path_, "belongs to another user");
}

TEST_F(Foreign, a_folder_of_mode_2770_is_shared_by_its_group) {
  const std::string shared = folder() + "/shared", path = shared + "/leases.db";
  fs::create_directory(shared);
  give(shared, alice, team);
  mode(shared, 02770);
  ASSERT_EQ(take_as(alice, {team}, path), "granted");
  EXPECT_EQ(mode_of(path), 0660u) << "whatever her umask";
  EXPECT_EQ(mode_of(path + "-wal"), 0660u);
  EXPECT_EQ(mode_of(path + ".d"), 02770u);
  for (const auto& fifo : fs::directory_iterator(path + ".d")) EXPECT_EQ(mode_of(fifo.path()), 0660u);
  EXPECT_EQ(take_as(bob, {team}, path), "granted") << "alice's process is dead, and bob can see that";
  EXPECT_EQ(take_as(alice, {team}, path), "granted") << "and the other way round";
  EXPECT_TRUE(take_as(bob, {}, path).starts_with("refused: "));
}

TEST_F(Foreign, sharing_takes_group_and_permission_on_file_and_folder) {
  const std::string shared = folder() + "/shared", path = shared + "/leases.db";
  fs::create_directory(shared);
  give(shared, alice, team);
  mode(shared, 02770);
  ASSERT_EQ(take_as(alice, {team}, path), "granted");
  mode(shared, 02750);
  expect_refused(take_as(bob, {team}, path), shared, "belongs to another user");
  mode(shared, 02770);
  mode(path, 0640);
  expect_refused(take_as(bob, {team}, path), path, "belongs to another user");
  mode(path, 0660);
  give(path, alice, alice);
  expect_refused(take_as(bob, {team}, path), path, "belongs to another user");
  give(path, alice, team);
  EXPECT_EQ(take_as(bob, {team}, path), "granted");
}

TEST_F(Ownership, a_journal_that_disappears_during_the_check_is_no_error) {
  const std::string path = folder() + "/leases.db", journal = path + "-journal";
  std::atomic<bool> done = false;
  std::jthread transactions([&] {
    while (!done) {
      std::ofstream(journal).put('j');
      mode(journal, 0600);
      fs::remove(journal);
    }
  });
  for (int i = 0; i < 20'000; ++i) EXPECT_NO_THROW(sqlite::check_files(path));
  done = true;
}

}  // namespace
}  // namespace holdfast::test
