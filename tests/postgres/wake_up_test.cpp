// SPDX-License-Identifier: Apache-2.0
// A client that takes a place in a queue learns of every release: it sees the release, or it is notified.
#include <algorithm>
#include <functional>
#include <set>
#include <thread>

#include "holdfast/holdfast.h"
#include "tests/postgres/jobs_suite.h"

namespace holdfast::test {
namespace {

class WakeUp : public PostgresTest {
 protected:
  WakeUp() { make_tables(url()); }

  // Statements on such a connection read their snapshot, and stop before they lock a row, until open_gate().
  std::string slow_url() const { return url() + "&application_name=slow"; }
  void close_gate() {
    gate_->run(
        "CREATE FUNCTION wait_at_gate() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
        "IF current_setting('application_name') = 'slow' THEN PERFORM pg_advisory_xact_lock_shared(" +
        gate_number() + "); END IF; RETURN NULL; END $$; SELECT pg_advisory_lock(" + gate_number() +
        "); CREATE TRIGGER gate BEFORE UPDATE ON locks FOR EACH STATEMENT EXECUTE FUNCTION " + schema_ +
        ".wait_at_gate()");
  }
  void await_somebody_at_gate() {
    EXPECT_TRUE(await([&] {
      return watching_->run(
                 "SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted AND objid = " +
                 gate_number()) == 1;
    }));
  }
  void open_gate() { gate_->run("SELECT pg_advisory_unlock_all(); DROP FUNCTION wait_at_gate() CASCADE"); }

  // Somebody takes a place while `release`, which has read that nobody waits, stands at the gate.
  void expect_rung_by(const std::string& key, const std::function<void()>& release) {
    Caller bob(url());
    const auto listener = bob.listener();
    close_gate();
    std::jthread releasing(release);
    await_somebody_at_gate();
    EXPECT_EQ(bob.acquire(key, "bob", 1h, 1h).verdict, Verdict::busy);
    EXPECT_EQ(bob.acquire(key, "bob", 1h).verdict, Verdict::busy);
    open_gate();
    releasing.join();
    EXPECT_TRUE(await(
        [&] {
          const auto keys = listener->ready().value();
          return std::find(keys.begin(), keys.end(), key) != keys.end();
        },
        5s));
  }
  std::string gate_number() const { return std::to_string(gate_->backend()); }

  const std::unique_ptr<Psql> gate_ = psql(), watching_ = psql();
};

TEST_F(WakeUp, a_client_that_takes_a_place_sees_a_release_that_is_being_committed) {
  Caller ann(url()), bob(url());
  ASSERT_EQ(ann.acquire("k", "ann").verdict, Verdict::granted);
  const auto releasing = psql();
  releasing->run("BEGIN");
  ASSERT_EQ(releasing->run("UPDATE locks SET locked_by = NULL WHERE key = 'k'"), 1);
  std::atomic<bool> over = false;
  std::jthread commits([&] {
    EXPECT_TRUE(await([&] {
      return over || watching_->run("SELECT 1 FROM pg_stat_activity WHERE $1 = ANY (pg_blocking_pids(pid))",
                                    {std::to_string(releasing->backend())}) == 1;
    }));
    releasing->run("COMMIT");
  });
  // As a client asks: for a place, and then once more.
  Reply reply = bob.acquire("k", "bob", 1h, 1h);
  if (reply.verdict == Verdict::busy) reply = bob.acquire("k", "bob", 1h);
  over = true;
  EXPECT_EQ(reply.verdict, Verdict::granted);
}

// Longer than anybody waits for a locked row: the waiter polls again soon, and not when the lease ends.
TEST_F(WakeUp, after_a_release_whose_commit_takes_long_a_waiter_polls_again_soon) {
  Caller ann(url());
  Client bob = open(url(), {.place = 1h});
  ASSERT_EQ(ann.acquire("k", "ann").verdict, Verdict::granted);
  const auto releasing = psql();
  releasing->run("BEGIN");
  ASSERT_EQ(releasing->run("UPDATE locks SET locked_by = NULL WHERE key = 'k'"), 1);
  std::jthread waiting([&] { EXPECT_TRUE(bob.try_acquire("k", {.wait = 1min})); });
  std::set<std::string> looks;
  EXPECT_TRUE(await([&] {
    const std::string look =
        watching_->value("SELECT query_start FROM pg_stat_activity WHERE $1 = ANY (pg_blocking_pids(pid))",
                         {std::to_string(releasing->backend())});
    if (!look.empty()) looks.insert(look);
    return looks.size() > 3;
  }));
  releasing->run("COMMIT");
}

TEST_F(WakeUp, a_release_that_began_before_somebody_took_a_place_notifies) {
  Caller ann(slow_url());
  const Reply mine = ann.acquire("k", "ann");
  expect_rung_by("k", [&] { EXPECT_EQ(ann.release("k", "ann", mine.token).verdict, Verdict::released); });
}

TEST_F(WakeUp, so_does_one_of_many) {
  Caller ann(slow_url());
  ann.acquire("k", "ann");
  ann.acquire("l", "ann");
  expect_rung_by("k", [&] {
    const Request both[] = {{.verb = Verb::release, .key = {"k"}, .owner = {"ann"}},
                            {.verb = Verb::release, .key = {"l"}, .owner = {"ann"}}};
    Reply replies[2];
    ASSERT_TRUE(ann.connection().apply(both, replies, soon()));
    EXPECT_EQ(replies[0].verdict, Verdict::released);
    EXPECT_EQ(replies[1].verdict, Verdict::released);
  });
}

TEST_F(WakeUp, a_break_that_began_before_somebody_took_a_place_notifies) {
  Caller ann(slow_url());
  const Token token = ann.acquire("k", "ann").token;
  expect_rung_by("k", [&] {
    const Request request{.verb = Verb::evict, .key = {"k"}, .owner = {"olga"}, .token = token};
    auto broken = ann.try_ask(request);
    // On a loaded machine the gate may open after the time of a call; a client asks again.
    const bool first = broken.has_value();
    if (!first && broken.error().retryable()) broken = ann.try_ask(request);
    ASSERT_TRUE(broken) << broken.error().detail;
    EXPECT_TRUE(broken->verdict == Verdict::released || (!first && broken->verdict == Verdict::lost));
  });
}

TEST_F(WakeUp, a_job_that_began_to_end_before_somebody_took_a_place_notifies) {
  Worker worker(slow_url());
  worker.enqueue(job_of("k"));
  const Claimed claimed = worker.claim("w");
  expect_rung_by("k", [&] { EXPECT_TRUE(worker.finish(claimed).released); });
}

// The other way round: the client that takes the place has locked the row first.
TEST_F(WakeUp, a_release_that_waited_for_a_client_that_took_a_place_notifies) {
  Caller ann(url()), bob(url());
  const auto listener = bob.listener();
  for (const char* key : {"k", "l"}) ASSERT_EQ(ann.acquire(key, "ann").verdict, Verdict::granted);
  const auto placing = psql();
  placing->run(
      "BEGIN; UPDATE locks SET locked_by = locked_by WHERE key = 'k'; INSERT INTO holdfast_waiters (key, "
      "client, "
      "waiter, until) VALUES ('k', '" +
      bob.store().client() + "', 'bob', '9999-01-01')");
  std::jthread releasing([&] {
    const Request both[] = {{.verb = Verb::release, .key = {"k"}, .owner = {"ann"}},
                            {.verb = Verb::release, .key = {"l"}, .owner = {"ann"}}};
    Reply replies[2];
    ASSERT_TRUE(ann.connection().apply(both, replies, soon()));
    EXPECT_EQ(replies[0].verdict, Verdict::released);
  });
  EXPECT_TRUE(await([&] {
    return watching_->run("SELECT 1 FROM pg_stat_activity WHERE $1 = ANY (pg_blocking_pids(pid))",
                          {std::to_string(placing->backend())}) == 1;
  }));
  placing->run("COMMIT");
  releasing.join();
  EXPECT_TRUE(await([&] { return listener->ready().value() == std::vector<std::string>{"k"}; }, 5s));
}

}  // namespace
}  // namespace holdfast::test
