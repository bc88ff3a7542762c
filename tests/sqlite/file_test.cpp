// SPDX-License-Identifier: Apache-2.0
// Which files we take for ours, and what we leave alone.
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>

#include "tests/sqlite/suite.h"
#include "tests/support/findings.h"

namespace holdfast::test {
namespace {

namespace fs = std::filesystem;

class Files : public SqliteTest {
 protected:
  Error refusal(const std::string& path) {
    const auto connection = store_at(path)->connect(soon());
    EXPECT_FALSE(connection);
    return connection ? Error{} : connection.error();
  }
  void write(const std::string& bytes) { std::ofstream(path_, std::ios::binary) << bytes; }
  void expect_refused_untouched(const std::string& word) {
    const std::string before = bytes_of(path_);
    const Error error = refusal(path_);
    EXPECT_EQ(error.code, Errc::refused);
    EXPECT_NE(error.detail.find(word), std::string::npos) << error.detail;
    EXPECT_NE(error.detail.find(path_), std::string::npos) << error.detail;
    EXPECT_EQ(bytes_of(path_), before);
    EXPECT_FALSE(fs::exists(path_ + ".d")) << "nothing is left beside it";
  }
  static mode_t mode(const std::string& path) {
    struct stat found {};
    return ::lstat(path.c_str(), &found) == 0 ? found.st_mode & 07777 : 0;
  }
};

TEST_F(Files, the_folder_is_made_with_its_parents_and_is_ours_alone) {
  const mode_t before = ::umask(022);
  const std::string path = scratch_.path() + "/a/b/leases.db";
  SqliteCaller here(path);
  EXPECT_TRUE(here.granted("k"));
  ::umask(before);
  EXPECT_EQ(mode(scratch_.path() + "/a"), 0700u);
  EXPECT_EQ(mode(scratch_.path() + "/a/b"), 0700u);
  EXPECT_EQ(mode(path), 0600u);
  EXPECT_EQ(mode(path + "-wal"), 0600u);
  EXPECT_EQ(mode(path + ".d"), 0700u);
  EXPECT_EQ(mode(path + ".d/locks." + here.store().client()), 0600u);
}

TEST_F(Files, every_way_to_a_file_leads_to_the_same_leases) {
  fs::create_directory(scratch_.path() + "/real");
  fs::create_directory_symlink("real", scratch_.path() + "/link");
  SqliteCaller one(scratch_.path() + "/real/leases.db"), other(scratch_.path() + "/link/../link/leases.db");
  ASSERT_TRUE(one.granted("k"));
  ASSERT_TRUE(other.queues("k"));
  one.release("k");
  EXPECT_TRUE(other.is_rung());
}

TEST_F(Files, a_relative_path_means_the_folder_of_the_moment) {
  const fs::path before = fs::current_path();
  fs::current_path(scratch_.path());
  const auto store = sqlite::store({.path = "leases.db"}).value();
  fs::current_path(before);
  EXPECT_TRUE(SqliteCaller(store).granted("k"));
  EXPECT_TRUE(fs::exists(path_));
  EXPECT_EQ(store->name(), "sqlite:" + path_);
}

TEST_F(Files, text_is_not_a_database) {
  write("hello, world\n");
  expect_refused_untouched("not a Holdfast database");
}

TEST_F(Files, a_long_file_of_anything_is_not_a_database) {
  write(std::string(100'000, 'x'));
  expect_refused_untouched("not a Holdfast database");
}

TEST_F(Files, a_database_of_another_program_is_left_alone) {
  RawDatabase(path_).ask("CREATE TABLE users(name); INSERT INTO users VALUES('me')");
  expect_refused_untouched("not a Holdfast database");
}

TEST_F(Files, a_database_with_another_application_id_is_left_alone) {
  RawDatabase(path_).ask("PRAGMA application_id = 305419896; CREATE TABLE users(name)");
  expect_refused_untouched("0x12345678");
}

TEST_F(Files, a_foreign_database_in_wal_mode_with_unwritten_pages_is_left_alone) {
  RawDatabase foreign(path_);
  foreign.ask("PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0; CREATE TABLE users(name)");
  const std::string log = bytes_of(path_ + "-wal");
  expect_refused_untouched("not a Holdfast database");
  EXPECT_EQ(bytes_of(path_ + "-wal"), log);
}

TEST_F(Files, a_newer_version_is_left_alone) {
  { SqliteCaller here(path_); }
  fs::remove_all(path_ + ".d");
  RawDatabase(path_).ask("PRAGMA user_version = 99");  // and closes it, so that the header has it
  expect_refused_untouched("newer Holdfast");
}

TEST_F(Files, a_version_before_the_first_release_is_left_alone) {
  { SqliteCaller here(path_); }
  fs::remove_all(path_ + ".d");
  RawDatabase(path_).ask("PRAGMA user_version = 1");
  expect_refused_untouched("before the first release");
}

TEST_F(Files, a_damaged_database_is_refused_and_left_alone) {
  {
    SqliteCaller here(path_);
    for (int i = 0; i < 200; ++i) here.acquire("key " + std::to_string(i));
  }
  fs::remove_all(path_ + ".d");
  RawDatabase(path_).ask("PRAGMA wal_checkpoint(TRUNCATE)");
  std::string bytes = bytes_of(path_);
  ASSERT_GT(bytes.size(), 8192u);
  std::fill(bytes.begin() + 100, bytes.end(), '\xff');
  write(bytes);
  expect_refused_untouched("is damaged");
}

TEST_F(Files, a_database_with_a_planted_trigger_is_refused) {
  { SqliteCaller here(path_); }
  RawDatabase(path_).ask("CREATE TRIGGER t AFTER INSERT ON locks BEGIN DELETE FROM holdfast_log; END");
  EXPECT_EQ(refusal(path_).code, Errc::refused);
}

TEST_F(Files, what_is_no_regular_file_is_refused) {
  fs::create_directory(path_);
  EXPECT_EQ(refusal(path_).code, Errc::refused);
  const std::string link = scratch_.path() + "/link.db", second = scratch_.path() + "/second.db",
                    file = scratch_.path() + "/file.db";
  fs::create_symlink("elsewhere.db", link);
  EXPECT_EQ(refusal(link).code, Errc::refused);
  { SqliteCaller here(file); }
  fs::create_hard_link(file, second);
  EXPECT_NE(refusal(file).detail.find("hard links"), std::string::npos);
}

TEST_F(Files, a_folder_that_cannot_be_made_is_refused) {
  EXPECT_EQ(refusal("/proc/holdfast/leases.db").code, Errc::refused);
  write("in the way");
  EXPECT_EQ(refusal(path_ + "/leases.db").code, Errc::refused);
}

TEST_F(Files, an_empty_file_becomes_a_database) {
  write("");
  EXPECT_TRUE(SqliteCaller(path_).granted("k"));
}

TEST_F(Files, a_file_that_is_replaced_under_us_is_not_used_any_more) {
  SqliteCaller here(path_);
  ASSERT_TRUE(here.granted("k"));
  fs::remove(path_);
  const auto reply =
      here.try_ask({.verb = Verb::renew, .key = {"k"}, .owner = {here.name()}, .ttl = 1h}, soon());
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error().code, Errc::unavailable);
  const auto anew = here.store().connect(soon());
  ASSERT_TRUE(anew);
  Reply lost;
  const Request renew{.verb = Verb::renew, .key = {"k"}, .owner = {here.name()}, .ttl = 1h};
  ASSERT_TRUE((*anew)->apply({&renew, 1}, {&lost, 1}, soon()));
  EXPECT_EQ(lost.verdict, Verdict::lost);
}

TEST_F(Files, a_path_is_needed) {
  for (const std::string& path : {std::string(), std::string("folder/"), std::string("a\0b", 3)}) {
    const auto none = sqlite::store({.path = path});
    ASSERT_FALSE(none);
    EXPECT_EQ(none.error().code, Errc::invalid);
  }
}

TEST_F(Files, table_names_are_letters_digits_and_underscores) {
  for (const char* good :
       {"locks", "_", "Jobs2", "select", "abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyz_"}) {
    const bool short_enough = std::string_view(good).size() <= 48;
    EXPECT_EQ(sqlite::store({.path = path_, .table = good}).has_value(), short_enough) << good;
  }
  for (const char* bad :
       {"", "1a", "a b", "a-b", "a;b", "\"a\"", "sqlite_x", "holdfast_log", "x_holdfast_log", "é"}) {
    const auto none = sqlite::store({.path = path_, .table = bad});
    ASSERT_FALSE(none) << bad;
    EXPECT_EQ(none.error().code, Errc::invalid) << bad;
  }
}

TEST_F(Files, two_tables_in_one_file_do_not_see_each_other) {
  SqliteCaller locks(path_);
  SqliteCaller jobs(locks.store().in("jobs").value()), words(locks.store().in("select").value());
  EXPECT_TRUE(locks.granted("k"));
  EXPECT_TRUE(jobs.granted("k"));
  EXPECT_TRUE(words.granted("k"));
  EXPECT_EQ(jobs.leases().size(), 1u);
  SqliteCaller waiter(locks.store().in("jobs").value());
  ASSERT_TRUE(waiter.queues("k"));
  locks.release("k");
  EXPECT_FALSE(waiter.is_rung());
  jobs.release("k");
  EXPECT_TRUE(waiter.is_rung());
}

TEST_F(Files, a_table_has_one_queue_however_it_is_spelt) {
  SqliteCaller one(sqlite::store({.path = path_, .table = "Jobs"}).value()),
      other(sqlite::store({.path = path_, .table = "jobs"}).value());
  ASSERT_TRUE(one.granted("k"));
  ASSERT_TRUE(other.queues("k"));
  one.release("k");
  EXPECT_TRUE(other.is_rung());
}

TEST_F(Files, a_name_for_people_has_the_table_if_it_is_not_the_usual_one) {
  EXPECT_EQ(store_at(path_)->name(), "sqlite:" + path_);
  EXPECT_EQ(sqlite::store({.path = path_, .table = "jobs"}).value()->name(),
            "sqlite:" + path_ + "?table=jobs");
}

TEST_F(Files, the_default_path_follows_the_environment) {
  const auto path_with = [](const char* state, const char* home) {
    state != nullptr ? ::setenv("XDG_STATE_HOME", state, 1) : ::unsetenv("XDG_STATE_HOME");
    home != nullptr ? ::setenv("HOME", home, 1) : ::unsetenv("HOME");
    return sqlite::default_path();
  };
  const char* const home = ::getenv("HOME");
  const char* const state = ::getenv("XDG_STATE_HOME");
  const std::string old_home = home != nullptr ? home : "", old_state = state != nullptr ? state : "";
  EXPECT_EQ(path_with("/state", "/me"), "/state/holdfast/leases.db");
  EXPECT_EQ(path_with(nullptr, "/me"), "/me/.local/state/holdfast/leases.db");
  EXPECT_EQ(path_with("relative", "/me"), "/me/.local/state/holdfast/leases.db");
  EXPECT_TRUE(path_with(nullptr, nullptr).ends_with("/.local/state/holdfast/leases.db"));
  EXPECT_EQ(path_with(nullptr, nullptr).front(), '/');
  (void)path_with(state != nullptr ? old_state.c_str() : nullptr,
                  home != nullptr ? old_home.c_str() : nullptr);
}

TEST_F(Files, what_it_says_about_itself) {
  SqliteCaller here(path_);
  Traits traits = here.examine();
  EXPECT_EQ(traits.name, "sqlite");
  EXPECT_TRUE(traits.push && traits.fair);
  EXPECT_EQ(traits.grade, Grade::B);
  EXPECT_TRUE(found(traits).empty());
  fs::permissions(path_, fs::perms::others_write, fs::perm_options::add);
  EXPECT_EQ(found(here.examine()).size(), 1u);
}

}  // namespace
}  // namespace holdfast::test
