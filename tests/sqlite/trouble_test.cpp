// SPDX-License-Identifier: Apache-2.0
// A system that does not give what it takes: no space, no inodes, no permission.  Each is reported with the
// path and the reason, leaves nothing half done, and loses nothing that was acknowledged.
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <map>

#include "tests/sqlite/apart.h"
#include "tests/sqlite/suite.h"

namespace holdfast::test {
namespace {

namespace fs = std::filesystem;

constexpr const char* no_mounts = "no mounts";

// A sentence that the parent expects to be empty: the first thing that is wrong.
#define HOLDFAST_WANT(condition, what) \
  if (!(condition)) return std::string("not " #condition ": ") + (what)

class Trouble : public SqliteTest {
 protected:
  void SetUp() override { fs::create_directory(folder_); }

  static Result<std::unique_ptr<StoreConnection>> open(const std::string& path) {
    auto store = sqlite::store({.path = path});
    if (!store) return std::move(store).error();
    return (*store)->connect(soon());
  }
  // Takes key after key until one fails; what was granted is in `granted`.
  static Error take_until_it_fails(StoreConnection& connection, std::map<std::string, Token>& granted) {
    for (int i = 0;; ++i) {
      const std::string key = std::to_string(i) + std::string(400, 'k');
      const Request request{.verb = Verb::acquire, .key = {key}, .owner = {"me"}, .ttl = 1h};
      Reply reply;
      if (const Status status = connection.apply({&request, 1}, {&reply, 1}, soon()); !status)
        return status.error();
      granted.emplace(key, reply.token);
    }
  }
  static bool still_granted(SqliteCaller& caller, const std::map<std::string, Token>& granted) {
    return std::all_of(granted.begin(), granted.end(), [&](const auto& grant) {
      const Reply reply = caller.acquire(grant.first, "me");
      return reply.verdict == Verdict::granted && reply.token == grant.second;
    });
  }
  static std::size_t fifos(const std::string& path) {
    if (!fs::exists(path + ".d")) return 0;
    return static_cast<std::size_t>(std::distance(fs::directory_iterator(path + ".d"), {}));
  }
  static void run(const std::function<std::string()>& body) {
    const std::string said = apart(body);
    if (said == no_mounts) GTEST_SKIP() << "the system does not let us mount";
    EXPECT_EQ(said, "");
  }

  const std::string folder_ = scratch_.path() + "/in";
  const std::string inside_ = folder_ + "/leases.db";
};

TEST_F(Trouble, a_full_disk_is_an_error_and_nothing_acknowledged_is_lost) {
  run([&]() -> std::string {
    if (!keep_mounts_to_ourselves()) return no_mounts;
    mount_memory(folder_, "size=256k,mode=700");
    std::map<std::string, Token> granted;
    SqliteCaller here(inside_);
    const Error error = take_until_it_fails(here.connection(), granted);
    HOLDFAST_WANT(granted.size() > 10, std::to_string(granted.size()));
    HOLDFAST_WANT(error.code == Errc::unavailable, error.detail);
    HOLDFAST_WANT(error.detail.find(inside_) != std::string::npos, error.detail);
    HOLDFAST_WANT(error.detail.find("No space left on device; make room there") != std::string::npos,
                  error.detail);
    change_memory(folder_, "size=8m");
    HOLDFAST_WANT(still_granted(here, granted), "the same connection");
    SqliteCaller fresh(inside_);
    HOLDFAST_WANT(still_granted(fresh, granted), "a fresh connection");
    const std::string first = granted.begin()->first;
    fresh.release(first, "me");
    HOLDFAST_WANT(fresh.acquire(first, "you").token > granted[first], "tokens rise");
    HOLDFAST_WANT(RawDatabase(inside_).ask("PRAGMA integrity_check") == "ok", "integrity");
    return {};
  });
}

TEST_F(Trouble, a_disk_that_fills_up_while_opening_leaves_nothing_half_made) {
  run([&]() -> std::string {
    if (!keep_mounts_to_ourselves()) return no_mounts;
    int failures = 0;
    for (int pages = 1;; ++pages) {
      mount_memory(folder_, "mode=700,size=" + std::to_string(pages * 4) + "k");
      const auto connection = open(inside_);
      if (connection) return failures > 3 ? "" : "it never failed";
      ++failures;
      HOLDFAST_WANT(connection.error().code == Errc::unavailable, connection.error().detail);
      HOLDFAST_WANT(connection.error().detail.find(folder_) != std::string::npos, connection.error().detail);
      HOLDFAST_WANT(fifos(inside_) == 0, "a FIFO was left");
      change_memory(folder_, "size=8m");
      HOLDFAST_WANT(open(inside_).has_value(), "with room it works");
    }
  });
}

TEST_F(Trouble, a_lack_of_inodes_is_an_error_that_passes) {
  run([&]() -> std::string {
    if (!keep_mounts_to_ourselves()) return no_mounts;
    int failures = 0;
    for (int inodes = 1;; ++inodes) {
      mount_memory(folder_, "mode=700,size=8m,nr_inodes=" + std::to_string(inodes));
      const auto connection = open(inside_);
      if (connection) return failures > 3 ? "" : "it never failed";
      ++failures;
      HOLDFAST_WANT(connection.error().code == Errc::unavailable, connection.error().detail);
      HOLDFAST_WANT(connection.error().detail.find("No space left") != std::string::npos,
                    connection.error().detail);
      HOLDFAST_WANT(fifos(inside_) == 0, "a FIFO was left");
      change_memory(folder_, "nr_inodes=100");
      HOLDFAST_WANT(open(inside_).has_value(), "with inodes it works");
    }
  });
}

TEST_F(Trouble, a_read_only_mount_is_refused) {
  { SqliteCaller here(inside_); }
  run([&]() -> std::string {
    if (!keep_mounts_to_ourselves()) return no_mounts;
    mount_read_only(folder_);
    for (const std::string& path : {inside_, folder_ + "/new.db", folder_ + "/new/leases.db"}) {
      const auto connection = open(path);
      HOLDFAST_WANT(!connection, path);
      HOLDFAST_WANT(connection.error().code == Errc::refused, connection.error().detail);
      HOLDFAST_WANT(connection.error().detail.find(folder_) != std::string::npos, connection.error().detail);
    }
    return {};
  });
}

// Permissions mean something to ordinary users only.
TEST_F(Trouble, a_folder_that_may_not_be_written_is_refused) {
  ::chmod(scratch_.path().c_str(), 0777 | S_ISVTX);
  const std::string folder = scratch_.path() + "/theirs", path = folder + "/leases.db";
  run([&]() -> std::string {
    become_ordinary();
    { SqliteCaller here(path); }
    for (const char* const suffix : {"-wal", "-shm"}) fs::remove(path + suffix);
    ::chmod(folder.c_str(), 0500);
    for (const std::string& given : {path, folder + "/new.db", folder + "/new/leases.db"}) {
      const auto connection = open(given);
      HOLDFAST_WANT(!connection, given);
      HOLDFAST_WANT(connection.error().code == Errc::refused, connection.error().detail);
      HOLDFAST_WANT(connection.error().detail.find(folder) != std::string::npos, connection.error().detail);
      HOLDFAST_WANT(connection.error().detail.find("a user who may write") != std::string::npos,
                    connection.error().detail);
    }
    ::chmod(folder.c_str(), 0700);
    HOLDFAST_WANT(open(path).has_value(), "and works again");
    return {};
  });
}

TEST_F(Trouble, a_file_that_may_not_be_written_is_refused) {
  ::chmod(scratch_.path().c_str(), 0777 | S_ISVTX);
  const std::string path = scratch_.path() + "/theirs/leases.db";
  run([&]() -> std::string {
    become_ordinary();
    { SqliteCaller here(path); }
    for (const char* const suffix : {"", "-wal", "-shm"}) {
      ::chmod((path + suffix).c_str(), 0400);
      const auto connection = open(path);
      HOLDFAST_WANT(!connection, suffix);
      HOLDFAST_WANT(connection.error().code == Errc::refused, connection.error().detail);
      HOLDFAST_WANT(connection.error().detail.find(path) != std::string::npos, connection.error().detail);
      ::chmod((path + suffix).c_str(), 0600);
    }
    HOLDFAST_WANT(open(path).has_value(), "and works again");
    return {};
  });
}

}  // namespace
}  // namespace holdfast::test
