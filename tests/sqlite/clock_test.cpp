// SPDX-License-Identifier: Apache-2.0
// No clock that can be set decides anything, and a reboot frees all.
#include <sys/stat.h>

#include <filesystem>

#include "tests/sqlite/suite.h"

namespace holdfast::test {
namespace {

// A machine whose clocks stand still until the test moves them.
class Clocks : public SqliteTest {
 protected:
  sqlite::Machine machine() {
    return {.boot_id = boot_id_,
            .time_namespace = time_namespace_,
            .boottime = [this] { return boottime_; },
            .walltime = [this] { return walltime_; }};
  }
  SqliteCaller caller() { return SqliteCaller(sqlite::store({.path = path_}, machine()).value()); }

  std::string boot_id_ = "one boot";
  std::uint64_t time_namespace_ = 7;
  Micros boottime_ = 1h, walltime_ = std::chrono::hours(24 * 365 * 50);
};

TEST_F(Clocks, a_lease_lives_until_exactly_its_ttl) {
  SqliteCaller a = caller(), b = caller();
  ASSERT_EQ(a.acquire("k", 1s).remaining, 1s);
  boottime_ += 1s;  // its end is the last moment of it
  const Reply busy = b.acquire("k");
  EXPECT_EQ(busy.verdict, Verdict::busy);
  EXPECT_EQ(busy.remaining, 1ms) << "a live lease never shows zero";
  boottime_ += 1us;
  EXPECT_TRUE(b.granted("k"));
}

TEST_F(Clocks, the_wall_clock_does_not_change_expiry) {
  SqliteCaller a = caller(), b = caller();
  ASSERT_TRUE(a.acquire("k", 10s).verdict == Verdict::granted);
  walltime_ += std::chrono::hours(24 * 365);
  EXPECT_EQ(b.acquire("k").remaining, 10s);
  walltime_ -= std::chrono::hours(24 * 365 * 2);
  EXPECT_EQ(b.acquire("k").remaining, 10s);
  EXPECT_EQ(a.renew("k", 20s).remaining, 20s);
}

TEST_F(Clocks, a_token_is_the_wall_clock_and_rises_when_that_goes_back) {
  SqliteCaller a = caller();
  const Token first = a.acquire("k").token;
  EXPECT_EQ(to_number(first), static_cast<std::uint64_t>(walltime_.count()));
  a.release("k");
  walltime_ -= 1h;
  const Token second = a.acquire("k").token;
  EXPECT_EQ(to_number(second), to_number(first) + 1);
  a.release("k");
  walltime_ += 2h;
  EXPECT_EQ(to_number(a.acquire("k").token), static_cast<std::uint64_t>(walltime_.count()));
}

TEST_F(Clocks, a_reboot_frees_all_and_tokens_still_rise) {
  Token before{};
  {
    SqliteCaller a = caller(), b = caller();
    before = a.acquire("k", never).token;
    a.acquire("named", "alice", never);
    ASSERT_TRUE(b.queues("k"));
    // a power cut: the client is gone, but its FIFO is still there
    std::filesystem::create_directories(path_ + ".d");
    ASSERT_EQ(mkfifo((path_ + ".d/locks.0123456789abcdef").c_str(), 0600), 0);
  }
  boot_id_ = "another boot";
  boottime_ = 5s;
  walltime_ -= 1h;  // and the battery of the clock was empty
  SqliteCaller a = caller();
  for (const LeaseRow& row : a.leases()) {
    EXPECT_EQ(row.remaining, 0ms) << row.key;
    EXPECT_EQ(row.owner, "") << row.key;
    EXPECT_EQ(row.waiting, 0u) << row.key;
  }
  EXPECT_FALSE(std::filesystem::exists(path_ + ".d/locks.0123456789abcdef"));
  const Reply reply = a.acquire("k", 10s);
  EXPECT_EQ(reply.verdict, Verdict::granted);
  EXPECT_GT(reply.token, before);
  EXPECT_TRUE(a.log("k").empty()) << "nobody was robbed";
  EXPECT_EQ(caller().acquire("k").verdict, Verdict::busy) << "the boot is remembered";
}

TEST_F(Clocks, a_file_from_another_host_is_not_mistaken_for_ours) {
  caller().acquire("k", "alice", never);
  boot_id_ = "the other host's";
  EXPECT_TRUE(caller().granted("k"));
}

TEST_F(Clocks, a_reboot_frees_each_table_of_a_file) {
  auto jobs = [&] {
    return SqliteCaller(sqlite::store({.path = path_, .table = "jobs"}, machine()).value());
  };
  caller().ask(
      {.verb = Verb::acquire, .key = {"k"}, .owner = {"alice"}, .ttl = Millis(never), .detached = true});
  jobs().ask(
      {.verb = Verb::acquire, .key = {"k"}, .owner = {"alice"}, .ttl = Millis(never), .detached = true});
  boot_id_ = "another boot";
  EXPECT_TRUE(caller().granted("k"));
  EXPECT_TRUE(jobs().granted("k"));
}

TEST_F(Clocks, another_time_namespace_is_refused) {
  caller().granted("k");
  ++time_namespace_;
  const auto refused = sqlite::store({.path = path_}, machine()).value()->connect(soon());
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::refused);
  EXPECT_NE(refused.error().detail.find("time namespace"), std::string::npos) << refused.error().detail;
}

TEST_F(Clocks, another_boot_in_another_time_namespace_is_fine) {
  caller().granted("k");
  ++time_namespace_;
  boot_id_ = "another boot";
  EXPECT_TRUE(caller().granted("k"));
}

TEST_F(Clocks, extending_without_end_stays_a_number) {
  SqliteCaller a = caller();
  a.acquire("k", 1h);
  const Millis longest = Millis(never) - 1ms;
  for (int i = 0; i < 3000; ++i) {
    const Reply reply =
        a.ask({.verb = Verb::renew, .key = {"k"}, .owner = {a.name()}, .ttl = longest, .extend = true});
    ASSERT_EQ(reply.verdict, Verdict::granted);
    ASSERT_GT(reply.remaining, 1h);
    ASSERT_NE(reply.remaining, never);
  }
  EXPECT_EQ(RawDatabase(path_).ask("SELECT typeof(locked_until) FROM locks"), "integer");
}

TEST_F(Clocks, rows_that_were_free_for_a_day_go_and_their_tokens_still_rise) {
  SqliteCaller a = caller();
  const Token first = a.acquire("old").token;
  a.release("old");
  a.acquire("held", "alice", never);
  a.acquire("recent", 48h);
  boottime_ += 23h, walltime_ += 23h;
  a.release("recent");
  boottime_ += 2h, walltime_ += 2h;
  const auto gone = [&] {
    a.granted("x");
    a.release("x");
    return RawDatabase(path_).ask("SELECT count(*) FROM locks WHERE key = 'old'") == "0";
  };
  EXPECT_TRUE(await(gone));
  EXPECT_EQ(RawDatabase(path_).ask("SELECT key FROM locks ORDER BY key"), "held\nrecent\nx");
  EXPECT_GT(a.acquire("old").token, first);
}

TEST_F(Clocks, a_lease_in_its_last_microsecond_is_not_purged) {
  SqliteCaller a = caller();
  a.acquire("k", 1s);
  boottime_ += 1s, walltime_ += 1s;
  const auto admin = a.store().admin();
  EXPECT_EQ(admin->purge({.free_for = 0ms}, soon()).value().keys, 0u);
  boottime_ += 1us;
  EXPECT_EQ(admin->purge({.free_for = 0ms}, soon()).value().keys, 1u);
}

TEST_F(Clocks, a_row_whose_token_is_ahead_of_the_wall_clock_is_not_purged) {
  SqliteCaller a = caller();
  const Token first = a.acquire("k").token;
  a.release("k");
  walltime_ -= 1h;  // a new token from the clock would be smaller
  boottime_ += 48h;
  const auto admin = a.store().admin();
  EXPECT_EQ(admin->purge({.free_for = 0ms}, soon()).value().keys, 0u);
  EXPECT_GT(a.acquire("k").token, first);
  a.release("k");
  walltime_ += 2h;
  boottime_ += 1us;
  EXPECT_EQ(admin->purge({.free_for = 0ms}, soon()).value().keys, 1u);
  EXPECT_GT(a.acquire("k").token, first);
}

TEST_F(Clocks, a_purge_while_the_clock_is_far_ahead_does_not_take_all_tokens_there) {
  SqliteCaller a = caller();
  const Token old = a.acquire("old").token;
  a.release("old");
  boottime_ += 48h, walltime_ += std::chrono::hours(24 * 365 * 12);
  ASSERT_EQ(a.store().admin()->purge({}, soon()).value().keys, 1u);
  walltime_ -= std::chrono::hours(24 * 365 * 12);
  EXPECT_EQ(to_number(a.acquire("new").token), to_number(old) + 1)
      << "behind what was purged, and no further";
  walltime_ += 1h;
  EXPECT_EQ(to_number(a.acquire("newer").token), static_cast<std::uint64_t>(walltime_.count()));
}

TEST_F(Clocks, a_token_rises_when_the_clock_is_set_back_after_a_purge) {
  SqliteCaller a = caller();
  for (const bool with_a_note : {false, true}) {  // by one statement, and by a decision
    const Token first = a.acquire("k").token;
    a.release("k");
    boottime_ += 48h, walltime_ += 48h;
    ASSERT_EQ(a.store().admin()->purge({}, soon()).value().keys, 1u);
    walltime_ -= std::chrono::hours(24 * 365);
    const Reply next = a.ask({.verb = Verb::acquire,
                              .key = {"k"},
                              .owner = {a.name()},
                              .ttl = 1h,
                              .note = with_a_note ? "note" : ""});
    EXPECT_GT(next.token, first);
    a.release("k");
    walltime_ += std::chrono::hours(24 * 365 * 2);
  }
}

}  // namespace
}  // namespace holdfast::test
