// SPDX-License-Identifier: Apache-2.0
// Many processes use one file: none hangs, none gets "database is locked", nothing is written needlessly.
#include <deque>
#include <filesystem>
#include <thread>

#include "tests/sqlite/suite.h"

namespace holdfast::test {
namespace {

class Sharing : public SqliteTest {
 protected:
  // The number of transactions in the log, by its format (sqlite.org/fileformat.html#walformat).
  int committed() const {
    const std::string log = bytes_of(path_ + "-wal");
    constexpr std::size_t header = 32, frame_header = 24, page = 4096;
    int count = 0;
    for (std::size_t at = header; at + frame_header + page <= log.size(); at += frame_header + page) {
      const bool of_this_round = log.compare(at + 8, 8, log, 16, 8) == 0;  // the salt
      const bool commits = log.compare(at + 4, 4, std::string(4, '\0')) != 0;
      count += of_this_round && commits;
    }
    return count;
  }
};

TEST_F(Sharing, acquire_and_release_without_contention_are_one_transaction_each) {
  SqliteCaller here(path_);
  here.granted("warm");
  here.release("warm");
  const int before = committed();
  ASSERT_TRUE(here.granted("k"));
  EXPECT_EQ(committed(), before + 1);
  here.renew("k");
  EXPECT_EQ(committed(), before + 2);
  here.release("k");
  EXPECT_EQ(committed(), before + 3);
}

TEST_F(Sharing, an_answer_that_changes_nothing_writes_nothing) {
  SqliteCaller here(path_), other(path_);
  ASSERT_TRUE(here.granted("k"));
  const int before = committed();
  EXPECT_EQ(other.acquire("k").verdict, Verdict::busy);
  EXPECT_EQ(other.acquire("k", "alice").verdict, Verdict::busy);
  EXPECT_EQ(other.renew("k").verdict, Verdict::lost);
  EXPECT_EQ(other.release("k").verdict, Verdict::lost);
  (void)here.leases();
  EXPECT_EQ(committed(), before);
  RawDatabase writer(path_);
  writer.ask("BEGIN IMMEDIATE");
  EXPECT_EQ(other.acquire("k", "alice").verdict, Verdict::busy) << "does not even wait for the lock";
}

TEST_F(Sharing, a_batch_is_one_transaction) {
  SqliteCaller here(path_);
  std::deque<std::string> keys;
  std::vector<Request> requests;
  for (int i = 0; i < 100; ++i) {
    keys.push_back("key " + std::to_string(i));
    requests.push_back({.verb = Verb::acquire, .key = {keys.back()}, .owner = {here.name()}, .ttl = 1h});
  }
  std::vector<Reply> replies(requests.size());
  const int before = committed();
  ASSERT_TRUE(here.connection().apply(requests, replies, soon()));
  EXPECT_EQ(committed(), before + 1);
  for (const Reply& reply : replies) EXPECT_EQ(reply.verdict, Verdict::granted);
}

TEST_F(Sharing, a_broken_lease_is_logged_with_who_and_why) {
  SqliteCaller here(path_), other(path_);
  const Token token = here.acquire("k").token;
  EXPECT_EQ(other.evict("k", token, "it hung", "the operator").verdict, Verdict::released);
  const auto log = other.log("k");
  ASSERT_EQ(log.size(), 1u);
  EXPECT_EQ(log[0].event, "broken");
  EXPECT_EQ(log[0].owner, here.name());
  EXPECT_EQ(log[0].token, token);
  EXPECT_EQ(log[0].by, "the operator");
  EXPECT_EQ(log[0].reason, "it hung");
  EXPECT_LT(wall_now() - log[0].at, 1h);
  EXPECT_EQ(here.renew("k").verdict, Verdict::lost);
}

TEST_F(Sharing, a_call_behind_a_writer_that_hangs_ends_with_its_time) {
  SqliteCaller here(path_);
  RawDatabase writer(path_);
  writer.ask("BEGIN IMMEDIATE");
  const Instant start = BootClock::now();
  for (const Verb verb : {Verb::acquire, Verb::renew, Verb::release, Verb::evict}) {
    const Request one{.verb = verb, .key = {"k"}, .owner = {here.name()}, .token = Token{1}, .ttl = 1h};
    const auto reply = here.try_ask(one, BootClock::now() + 50ms);
    ASSERT_FALSE(reply);
    EXPECT_EQ(reply.error().code, Errc::unavailable);
    EXPECT_EQ(reply.error().detail.find("database is locked"), std::string::npos);
  }
  EXPECT_LT(BootClock::now() - start, 10s);
  writer.ask("ROLLBACK");
  EXPECT_TRUE(here.granted("k"));
}

TEST_F(Sharing, opening_behind_a_writer_that_hangs_ends_with_its_time) {
  RawDatabase writer(path_);
  writer.ask("BEGIN EXCLUSIVE");
  const auto connection = store_at(path_)->connect(BootClock::now() + 50ms);
  ASSERT_FALSE(connection);
  EXPECT_EQ(connection.error().code, Errc::unavailable);
}

TEST_F(Sharing, an_acquire_that_comes_too_late_grants_nothing) {
  SqliteCaller here(path_);
  const auto late = here.try_ask({.verb = Verb::acquire, .key = {"k"}, .owner = {here.name()}, .ttl = 1h},
                                 BootClock::now() - 1ms);
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().code, Errc::unavailable);
  EXPECT_TRUE(here.leases().empty());
}

TEST_F(Sharing, eight_processes_may_open_a_file_that_does_not_exist_yet) {
  for (int round = 0; round < 3; ++round) {
    const std::string path = scratch_.path() + "/new" + std::to_string(round) + "/leases.db";
    std::vector<Process> starting;
    for (int i = 0; i < 8; ++i) starting.emplace_back(std::vector<std::string>{"sqlite:" + path});
    for (Process& peer : starting) EXPECT_EQ(peer.hear().size(), 16u) << "its client";
    for (Process& peer : starting) EXPECT_EQ(peer.ask("load k" + std::to_string(peer.pid()) + " 20"), "done");
    EXPECT_EQ(RawDatabase(path).ask("PRAGMA integrity_check"), "ok");
  }
}

TEST_F(Sharing, threads_may_open_a_file_that_does_not_exist_yet) {
  std::vector<std::thread> threads;
  std::atomic<int> granted = 0;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&, i] {
      SqliteCaller here(path_);
      granted += here.granted("k" + std::to_string(i));
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(granted, 4);
}

TEST_F(Sharing, two_stores_of_one_origin_work_at_the_same_time) {
  const auto store = store_at(path_);
  SqliteCaller callers(store), keeper(store), owner(path_);
  ASSERT_TRUE(owner.granted("k"));
  ASSERT_TRUE(callers.queues("k"));
  std::thread renewing([&] {
    for (int i = 0; i < 200; ++i) {
      keeper.granted("kept");
      keeper.release("kept");
    }
  });
  for (int i = 0; i < 200; ++i) ASSERT_TRUE(callers.queues("k"));
  renewing.join();
  keeper.leave("k", keeper.name());  // the place is the client's, whichever store asks
  owner.release("k");
  EXPECT_FALSE(callers.is_rung());
  EXPECT_TRUE(owner.granted("k"));
}

TEST_F(Sharing, the_log_stays_short_under_load) {
  std::vector<PeerProcess> peers;
  for (int i = 0; i < 4; ++i) peers.emplace_back(url_);
  for (PeerProcess& peer : peers) peer.send("load k" + peer.client() + " 2500");
  for (PeerProcess& peer : peers) EXPECT_EQ(peer.hear(), "done");
  constexpr std::uintmax_t frame = 4096 + 24;
  EXPECT_LT(std::filesystem::file_size(path_ + "-wal"), 10'000 * frame) << "of 20,000 commits";
  EXPECT_EQ(RawDatabase(path_).ask("PRAGMA integrity_check"), "ok");
}

TEST_F(Sharing, a_reader_that_stays_keeps_its_snapshot_and_stops_nobody) {
  RawDatabase reader(path_);
  {
    SqliteCaller first(path_);
    first.granted("k");
  }
  reader.ask("BEGIN; SELECT count(*) FROM locks");
  SqliteCaller here(path_);
  for (int i = 0; i < 1000; ++i) {
    here.granted("k" + std::to_string(i % 10));
    here.release("k" + std::to_string(i % 10));
  }
  EXPECT_EQ(reader.ask("SELECT count(*) FROM locks"), "1") << "its snapshot";
  reader.ask("COMMIT");
}

TEST_F(Sharing, a_forked_child_may_open_the_file_and_outlive_its_parent) {
  for (int round = 0; round < 3; ++round) {
    PeerProcess daemon(url_);
    ASSERT_EQ(daemon.ask("load k 10"), "done");
    ASSERT_FALSE(daemon.ask("fork").empty());
    daemon.send("load a 3000");
    for (int visit = 0; visit < 50; ++visit) {  // each finds the file in use, though its first user has gone
      SqliteCaller visitor(path_);
      EXPECT_TRUE(visitor.granted("b"));
      visitor.release("b");
    }
    EXPECT_EQ(daemon.hear(), "done");
  }
}

TEST_F(Sharing, a_full_disk_is_an_error_and_no_damage) {
  PeerProcess peer(url_);
  ASSERT_EQ(peer.ask("load k 10"), "done");
  ASSERT_EQ(peer.ask("limit 40000"), "done");
  EXPECT_TRUE(peer.ask("load k 100").starts_with("error"));
  ASSERT_EQ(peer.ask("limit none"), "done");
  PeerProcess fresh(url_);
  EXPECT_EQ(fresh.ask("load l 10"), "done");
  EXPECT_EQ(peer.ask("load l 10"), "done") << "the same connection goes on, too";
  EXPECT_EQ(RawDatabase(path_).ask("PRAGMA integrity_check"), "ok");
}

TEST_F(Sharing, the_history_is_bounded) {
  SqliteCaller here(path_);
  RawDatabase(path_).ask(
      "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 12000) "
      "INSERT INTO holdfast_log(at, key, event, holder, token, by, reason) SELECT i, 'k', 'broken', 'h', i, "
      "'b', '' FROM n");
  EXPECT_TRUE(await([&] {
    here.granted("x");
    here.release("x");
    return RawDatabase(path_).ask("SELECT count(*) FROM holdfast_log") == "10000";
  }));
  EXPECT_EQ(here.log("k").size(), 1000u) << "a page";
  EXPECT_EQ(here.log("k").front().at, Moment(12ms)) << "newest first";
}

}  // namespace
}  // namespace holdfast::test
