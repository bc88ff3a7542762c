// SPDX-License-Identifier: Apache-2.0
// What an administrator has set for a role or a database changes no answer, also behind a pooler, where no
// setting of a session of ours would stay.
#include <gmock/gmock.h>

#include <atomic>
#include <thread>

#include "tests/postgres/jobs_suite.h"
#include "tests/support/findings.h"
#include "tests/support/servers/pgbouncer.h"

namespace holdfast::test {
namespace {

// A database of its own, set up as oddly as can be.
class Session : public ::testing::Test {
 protected:
  Session() {
    shared_postgres().execute("CREATE DATABASE " + database_);
    shared_postgres().execute("CREATE SCHEMA app", database_);
    for (const char* setting :
         {"extra_float_digits = -15", "DateStyle = 'German, DMY'", "IntervalStyle = 'sql_standard'",
          "TimeZone = 'Asia/Kathmandu'", "bytea_output = 'escape'", "client_min_messages = 'error'",
          "search_path = ''", "standard_conforming_strings = off", "array_nulls = off",
          "quote_all_identifiers = on", "transform_null_equals = on", "lc_numeric = 'C'"})
      shared_postgres().execute("ALTER DATABASE " + database_ + " SET " + setting);
    make_tables(url());
  }
  ~Session() override {
    try {
      shared_postgres().execute("DROP DATABASE " + database_ + " WITH (FORCE)");
    } catch (const std::exception&) {
      // It goes with the server.
    }
  }
  static constexpr const char* table = "?table=app.locks";
  std::string url() const { return shared_postgres().url("postgres", database_) + table; }
  const std::string database_ = "d_" + random_hex(16);
};

void expect_within(Millis remaining, Millis ttl) {
  EXPECT_GT(remaining, 0ms);
  EXPECT_LE(remaining, ttl);
}

Moment told_at(const Reply& reply) { return Moment(Micros(static_cast<std::int64_t>(reply.now))); }

void use_all_of_leases(const std::string& url) {
  const Millis ttl = 10min;
  Caller ann(url), bob(url);
  for (int i = 0; i < 3; ++i) {  // until it is prepared
    const Reply mine = ann.acquire("k", "ann", ttl);
    ASSERT_EQ(mine.verdict, Verdict::granted);
    expect_within(mine.remaining, ttl);
    expect_within(ann.renew("k", "ann", mine.token, ttl).remaining, ttl);
    expect_within(bob.acquire("k", "bob", ttl).remaining, ttl);
    expect_within(bob.acquire("k", "bob", ttl, 1min).remaining, ttl);
    expect_within(ann.extend("k", "ann", ttl).remaining, 2 * ttl);
    const Page leases = bob.list({});
    ASSERT_EQ(leases.leases.size(), 1u);
    expect_within(leases.leases[0].remaining, 2 * ttl);
    EXPECT_LE(std::chrono::abs(leases.leases[0].since.value() - told_at(mine)), 1min);
    const Page places = ann.list({.what = Query::What::places});
    ASSERT_EQ(places.places.size(), 1u);
    expect_within(places.places[0].remaining, 1min);
    ASSERT_EQ(ann.release("k", "ann", mine.token).verdict, Verdict::released);
    const Reply next = bob.acquire("k", "bob", ttl, 1min);
    ASSERT_EQ(next.verdict, Verdict::granted) << "it was its turn";
    expect_within(next.remaining, ttl);
    ann.evict("k", next.token, "to see it in the log", "olga");
    const Page log = ann.list({.what = Query::What::log});
    ASSERT_FALSE(log.log.empty());
    EXPECT_LE(std::chrono::abs(log.log[0].at - told_at(next)), 1min);
  }
}

void use_job_times(const std::string& url) {
  const Millis ttl = 10min;
  Worker worker(url);
  const EnqueueReply enqueued = worker.enqueue(job_of("timed", {.lock_ttl = ttl}));
  const Claimed claimed = worker.claim("w", ttl);
  ASSERT_EQ(claimed.what, Got::running);
  expect_within(claimed.lock_remaining, ttl);
  const JobRow row = worker.row(enqueued.id);
  expect_within(row.claim_remaining, ttl);
  EXPECT_LE(std::chrono::abs(row.started_at.value() - enqueued.now), 1min);
  EXPECT_TRUE(worker.finish(claimed).released);
}

TEST_F(Session, no_setting_of_a_database_changes_an_answer) {
  use_all_of_leases(url());
  use_job_times(url());
  use_all_of_jobs(url());
  const auto admin = try_store(url()).value()->admin();
  EXPECT_TRUE(admin->purge({.free_for = 0ms}, soon()));
  const auto diagnosis = admin->diagnose(soon());
  ASSERT_TRUE(diagnosis) << diagnosis.error().detail;
  EXPECT_THAT(topics_of(diagnosis->findings), ::testing::ElementsAre("note postgres.superuser"));
}

TEST_F(Session, nor_does_it_beside_the_table_of_shedlock) {
  const std::string beside =
      shared_postgres().url("postgres", database_) + "?layout=shedlock&table=app.shedlock";
  make_tables(beside);
  use_all_of_leases(beside);
  const PgBouncer bouncer(shared_postgres(), {"default_pool_size = 2"});
  use_all_of_leases(bouncer.url(database_) + "?layout=shedlock&table=app.shedlock");
}

TEST_F(Session, nor_does_it_behind_a_pooler) {
  const PgBouncer bouncer(shared_postgres(), {"default_pool_size = 2"});
  const std::string pooled = bouncer.url(database_) + table;
  use_all_of_leases(pooled);
  use_job_times(pooled);
  use_all_of_jobs(pooled);
  EXPECT_TRUE(try_store(pooled).value()->admin()->diagnose(soon()));
}

// If a wait for a standby was cancelled, the server sends a warning and then an ordinary success.
class UnsureCommit : public ::testing::Test {
 protected:
  UnsureCommit() { make_tables(server_.url()); }

  // The result of a call whose wait is cancelled, if it waits at all.
  template <class Call>
  std::optional<Errc> outcome(const Call& call) {
    std::atomic<bool> over = false;
    std::jthread cancelling([&] {
      EXPECT_TRUE(await([&] {
        return over || server_.execute(
                           "SELECT count(pg_cancel_backend(pid)) FROM pg_stat_activity WHERE "
                           "wait_event = 'SyncRep'") == "1";
      }));
    });
    const auto result = call();
    over = true;
    return result ? std::nullopt : std::optional(result.error().code);
  }
  PostgresServer server_{{.fsync = false}};
};

TEST_F(UnsureCommit, is_in_doubt_whatever_messages_the_role_asks_for) {
  server_.execute("ALTER ROLE postgres SET client_min_messages = error");
  Caller ours(server_.url());
  Worker worker(server_.url());
  const Reply mine = ours.acquire("k", "ann");
  worker.enqueue(job_of("j"));
  worker.enqueue(job_of("j2"));
  const Claimed claimed = worker.claim("w");
  server_.execute("ALTER SYSTEM SET synchronous_standby_names = 'nobody'");
  server_.execute("SELECT pg_reload_conf()");

  const auto ask = [&](const Request& request) { return outcome([&] { return ours.try_ask(request); }); };
  const Request renew{.verb = Verb::renew, .key = {"k"}, .owner = {"ann"}, .token = mine.token, .ttl = 2h};
  EXPECT_TRUE(await([&] { return ask(renew) == Errc::in_doubt; })) << "from the moment it waits for standbys";
  EXPECT_EQ(ask(renew), Errc::in_doubt) << "prepared";
  EXPECT_EQ(ask({.verb = Verb::acquire, .key = {"new"}, .owner = {"ann"}, .ttl = 1h}), Errc::in_doubt);
  EXPECT_EQ(ask({.verb = Verb::acquire, .key = {"noted"}, .owner = {"ann"}, .ttl = 1h, .note = "n"}),
            Errc::in_doubt);
  EXPECT_EQ(ask({.verb = Verb::release, .key = {"k"}, .owner = {"ann"}}), Errc::in_doubt);
  EXPECT_EQ(ask({.verb = Verb::acquire, .key = {"k"}, .owner = {"ann"}, .ttl = 1h}), Errc::in_doubt);

  EXPECT_EQ(outcome([&] { return worker.engine().enqueue(job_of("j3"), soon()); }), Errc::in_doubt);
  EXPECT_EQ(outcome([&] { return worker.try_claim("w2"); }), Errc::in_doubt);
  EXPECT_EQ(outcome([&] { return worker.engine().finish(done(claimed), soon()); }), Errc::in_doubt);
  EXPECT_EQ(outcome([&] { return worker.engine().take_tick({.name = "t", .tick = 1, .by = "me"}, soon()); }),
            Errc::in_doubt);
  EXPECT_EQ(outcome([&] { return worker.engine().note_success("t", "me", soon()); }), Errc::in_doubt);
}

}  // namespace
}  // namespace holdfast::test
