// SPDX-License-Identifier: Apache-2.0
// Ruby's locker 0.6 and ours on one table.
#include <future>

#include "holdfast/holdfast.h"
#include "tests/postgres/ruby.h"
#include "tests/support/leases.h"

namespace holdfast::test {
namespace {

class Locker : public PostgresTest {
 protected:
  Locker() { make_tables(url()); }
  Ruby ruby(const std::string& key) { return {psql(), key}; }
};

TEST_F(Locker, what_ruby_holds_is_busy_for_us_and_what_we_hold_is_for_ruby) {
  Caller ours(url());
  Ruby ruby = this->ruby("k");
  ASSERT_TRUE(ruby.get());
  const Reply busy = ours.acquire("k", "ann");
  EXPECT_EQ(busy.verdict, Verdict::busy);
  EXPECT_EQ(busy.owner, ruby.name());
  EXPECT_GT(busy.remaining, 0ms);
  EXPECT_LE(busy.remaining, 30s);
  ASSERT_TRUE(ruby.release());
  EXPECT_EQ(ours.acquire("k", "ann").verdict, Verdict::granted);
  EXPECT_FALSE(ruby.get());
  EXPECT_FALSE(ruby.renew());
  EXPECT_FALSE(ruby.release());
  ours.release("k", "ann");
  EXPECT_TRUE(ruby.get());
}

TEST_F(Locker, the_bare_row_that_ruby_makes_first_is_free_for_us) {
  Caller ours(url());
  Ruby ruby = this->ruby("k");
  const Reply mine = ours.acquire("k", "ann");
  EXPECT_EQ(mine.verdict, Verdict::granted);
  EXPECT_GT(to_number(mine.token), 1'000'000u) << "a token is at least the clock";
  ruby.psql().run("INSERT INTO locks (key, sequence) VALUES ('upgraded', NULL)");
  EXPECT_EQ(ours.acquire("upgraded", "ann").verdict, Verdict::granted);
}

TEST_F(Locker, renewals_of_either_keep_the_other_out) {
  Caller ours(url());
  Ruby ruby = this->ruby("k");
  ASSERT_TRUE(ruby.get("0.05"));
  ASSERT_TRUE(ruby.renew());
  let_pass(60ms);
  EXPECT_EQ(ours.acquire("k", "ann").verdict, Verdict::busy);
  ruby.release();
  ASSERT_TRUE(await([&] {  // it is short: once more if the renewal came too late
    const Reply mine = ours.acquire("k", "ann", 50ms);
    return ours.renew("k", "ann", mine.token).verdict == Verdict::granted;
  }));
  let_pass(60ms);
  EXPECT_FALSE(ruby.get());
}

TEST_F(Locker, tokens_rise_whether_ruby_or_holdfast_takes_the_key) {
  Caller ours(url());
  Ruby ruby = this->ruby("k");
  const Reply first = ours.acquire("k", "ann");
  ours.release("k", "ann");
  ASSERT_TRUE(ruby.get());
  EXPECT_EQ(ruby.sequence(), std::to_string(to_number(first.token) + 1));
  ruby.release();
  EXPECT_GT(to_number(ours.acquire("k", "ann").token), to_number(first.token) + 1);
}

TEST_F(Locker, a_release_of_rubys_leaves_the_end_in_the_future_and_the_key_is_free_all_the_same) {
  Caller ours(url());
  Ruby ruby = this->ruby("k");
  ASSERT_TRUE(ruby.get());
  ASSERT_TRUE(ruby.release());
  ASSERT_EQ(ruby.psql().value("SELECT locked_until > clock_timestamp() at time zone 'UTC' FROM locks"), "t");
  const auto rows = ours.list({}).leases;
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0].remaining, 0ms);
  EXPECT_EQ(ours.acquire("k", "ann").verdict, Verdict::granted);
}

TEST_F(Locker, a_row_with_an_owner_and_no_end_is_held_for_ever) {
  Caller ours(url());
  psql()->run("INSERT INTO locks (key, locked_by) VALUES ('k', 'somebody')");
  const Reply busy = ours.acquire("k", "ann");
  EXPECT_EQ(busy.verdict, Verdict::busy);
  EXPECT_EQ(busy.remaining, never);
  const Reply mine = ours.acquire("mine", "ann", never);
  EXPECT_EQ(mine.remaining, never);
  Ruby ruby = this->ruby("mine");
  EXPECT_FALSE(ruby.get());
}

TEST_F(Locker, ruby_takes_over_what_ran_out_and_we_learn_that_it_was_stolen) {
  Ruby ruby = this->ruby("k");
  Client client = open(url());
  Lease lease = short_lease(client, "k", {.ttl = 300ms, .keep = false});
  ASSERT_TRUE(await([&] { return ruby.get(); }));
  const auto renewed = lease.try_renew();
  ASSERT_FALSE(renewed);
  EXPECT_EQ(renewed.error().code, Errc::lost);
  EXPECT_EQ(lease.release(), Released::stolen);
  EXPECT_FALSE(client.available("k")) << "it is Ruby's";
}

TEST_F(Locker, a_kept_lease_that_ruby_took_meanwhile_is_lost_as_stolen) {
  Ruby ruby = this->ruby("k");
  std::atomic<bool> taken = false;
  Client client = client_that_renews_later(try_store(url()).value(), taken);
  const Lease lease = client.acquire("k", {.renew_every = 100ms});
  // As if our renewals had not come through in time.
  ruby.psql().run(
      "UPDATE locks SET locked_until = clock_timestamp() at time zone 'UTC' - interval '1 second'");
  ASSERT_TRUE(ruby.get());
  taken = true;
  ASSERT_TRUE(await([&] { return !lease.held(); }));
  EXPECT_EQ(lease.lost().reason, Loss::stolen);
}

TEST_F(Locker, a_prune_that_deletes_our_row_is_a_loss_and_the_key_can_be_had_again) {
  Caller ours(url());
  Ruby ruby = this->ruby("other");
  const Reply mine = ours.acquire("k", "ann", 2ms);
  ASSERT_TRUE(await([&] { return ruby.prune() > 0; }));
  EXPECT_EQ(ours.renew("k", "ann", mine.token).verdict, Verdict::lost);
  EXPECT_EQ(ours.release("k", "ann", mine.token).verdict, Verdict::lost);
  const Reply again = ours.acquire("k", "ann");
  EXPECT_EQ(again.verdict, Verdict::granted);
  EXPECT_GT(again.token, mine.token);
}

TEST_F(Locker, a_waiter_for_a_key_whose_row_is_pruned_gets_it) {
  Ruby ruby = this->ruby("k");
  ASSERT_TRUE(ruby.get("3600.0"));
  auto waiter =
      std::async(std::launch::async, [this] { return open(url()).acquire("k", {.wait = 20s}).held(); });
  EXPECT_TRUE(await([&] { return ruby.psql().value("SELECT count(*) FROM holdfast_waiters") == "1"; }));
  EXPECT_EQ(ruby.prune("clock_timestamp() at time zone 'UTC' + interval '1 day'"), 1);
  EXPECT_TRUE(waiter.get());
}

TEST_F(Locker, times_are_utc_by_the_servers_clock_whatever_zone_a_session_is_in) {
  Caller tokyo(url() + "&options=-ctimezone%3DAsia/Tokyo");
  Ruby ruby = this->ruby("k");
  ruby.psql().run("SET timezone = 'America/New_York'");
  ASSERT_EQ(tokyo.acquire("k", "ann", 1h).verdict, Verdict::granted);
  EXPECT_FALSE(ruby.get());
  EXPECT_EQ(ruby.psql().value("SELECT locked_at BETWEEN now - interval '1 minute' AND now AND "
                              "locked_until BETWEEN now + interval '59 minutes' AND now + interval '1 hour' "
                              "FROM locks, (SELECT clock_timestamp() at time zone 'UTC' AS now) AS utc"),
            "t");
  tokyo.release("k", "ann");
  ASSERT_TRUE(ruby.get());
  const Reply busy = tokyo.acquire("k", "ann");
  EXPECT_EQ(busy.verdict, Verdict::busy);
  EXPECT_LE(busy.remaining, 30s);
  EXPECT_GT(busy.remaining, 0s);
}

TEST_F(Locker, we_take_over_what_ruby_let_run_out_and_it_is_written_down) {
  Caller ours(url());
  Ruby ruby = this->ruby("k");
  ASSERT_TRUE(ruby.get("0.005"));
  ASSERT_TRUE(await([&] { return ours.acquire("k", "ann").verdict == Verdict::granted; }));
  EXPECT_FALSE(ruby.renew());
  const auto log = ours.list({.what = Query::What::log}).log;
  ASSERT_EQ(log.size(), 1u);
  EXPECT_EQ(log[0].owner, ruby.name());
  EXPECT_EQ(log[0].by, "ann");
}

TEST_F(Locker, an_open_transaction_of_rubys_blocks_only_its_own_key) {
  Caller ours(url());
  Ruby ruby = this->ruby("b");
  ASSERT_EQ(ours.acquire("mine", "ann").verdict, Verdict::granted);
  ruby.psql().run("BEGIN");
  ASSERT_TRUE(ruby.get());
  const Request batch[] = {
      {.verb = Verb::acquire, .key = {"a"}, .owner = {"ann"}, .ttl = 1h},
      {.verb = Verb::acquire, .key = {"b"}, .owner = {"ann"}, .ttl = 1h},
      {.verb = Verb::acquire, .key = {"c"}, .owner = {"ann"}, .ttl = 1h},
      {.verb = Verb::renew, .key = {"mine"}, .owner = {"ann"}, .ttl = 2h},
  };
  Reply replies[4];
  const Status status = ours.connection().apply(batch, replies, BootClock::now() + 2s);
  ASSERT_TRUE(status) << status.error().detail;
  EXPECT_EQ(replies[0].verdict, Verdict::granted);
  EXPECT_EQ(replies[1].verdict, Verdict::busy);
  EXPECT_EQ(replies[1].owner, "(a transaction that has its row locked)");
  EXPECT_GT(replies[1].remaining, 0ms);
  EXPECT_EQ(replies[2].verdict, Verdict::granted);
  EXPECT_EQ(replies[3].verdict, Verdict::granted);
  EXPECT_GT(replies[3].remaining, 1h);
  EXPECT_EQ(ours.try_acquire("b", "bob", BootClock::now() + 1s).value().verdict, Verdict::busy);
  ruby.psql().run("COMMIT");
  EXPECT_EQ(ours.acquire("b", "ann").owner, ruby.name());
}

TEST_F(Locker, a_renewal_that_meets_a_locked_row_says_what_is_left_and_loses_nothing) {
  Caller ours(url());
  const Reply mine = ours.acquire("k", "ann", 1h);
  const auto guard = psql();
  guard->run("BEGIN");
  guard->run("SELECT 1 FROM locks WHERE key = 'k' FOR SHARE");
  const auto met =
      ours.try_ask({.verb = Verb::renew, .key = {"k"}, .owner = {"ann"}, .token = mine.token, .ttl = 2h},
                   BootClock::now() + 1s);
  ASSERT_TRUE(met) << met.error().detail;
  EXPECT_EQ(met->verdict, Verdict::granted);
  EXPECT_LE(met->remaining, 1h);
  const auto release = ours.try_ask(
      {.verb = Verb::release, .key = {"k"}, .owner = {"ann"}, .token = mine.token}, BootClock::now() + 1s);
  ASSERT_FALSE(release);
  EXPECT_EQ(release.error().code, Errc::unavailable);
  guard->run("COMMIT");
  EXPECT_GT(ours.renew("k", "ann", mine.token, 2h).remaining, 1h);
  EXPECT_EQ(ours.release("k", "ann", mine.token).verdict, Verdict::released);
}

TEST_F(Locker, a_request_on_a_locked_row_that_was_not_done_is_never_reported_as_done) {
  Caller ours(url());
  const Reply mine = ours.acquire("k", "ann", 1h);
  const auto guard = psql();
  guard->run("BEGIN; SELECT 1 FROM locks WHERE key = 'k' FOR UPDATE");
  const Request again{.verb = Verb::acquire, .key = {"k"}, .owner = {"ann"}, .ttl = 2h};
  const Request extend{
      .verb = Verb::renew, .key = {"k"}, .owner = {"ann"}, .token = mine.token, .ttl = 1h, .extend = true};
  for (const Request& request : {again, extend}) {
    const auto reply = ours.try_ask(request, BootClock::now() + 500ms);
    ASSERT_FALSE(reply);
    EXPECT_EQ(reply.error().code, Errc::unavailable) << reply.error().detail;
  }
  guard->run("COMMIT");
  EXPECT_EQ(ours.ask(again).verdict, Verdict::granted);
}

TEST_F(Locker, a_release_that_meets_a_locked_row_holds_up_nothing_else_of_its_batch) {
  Caller ours(url());
  const std::string keys[] = {"a", "b", "c"};
  for (const std::string& key : keys) ours.acquire(key, "ann");
  const auto guard = psql();
  guard->run("BEGIN; SELECT 1 FROM locks WHERE key = 'a' FOR UPDATE");
  std::vector<Request> batch;
  for (const std::string& key : keys)
    batch.push_back({.verb = Verb::release, .key = {key}, .owner = {"ann"}});
  batch.push_back({.verb = Verb::acquire, .key = {"c"}, .owner = {"bob"}, .ttl = 1h});
  batch.push_back({.verb = Verb::acquire, .key = {"a"}, .owner = {"bob"}, .ttl = 1h});
  std::vector<Reply> replies(batch.size());
  const Status status = ours.connection().apply(batch, replies, BootClock::now() + 2s);
  ASSERT_TRUE(status) << status.error().detail;
  for (const std::size_t locked : {0u, 4u}) {
    ASSERT_TRUE(replies[locked].error);
    EXPECT_EQ(replies[locked].error->code, Errc::unavailable) << replies[locked].error->detail;
  }
  for (const std::size_t other : {1u, 2u}) EXPECT_EQ(replies[other].verdict, Verdict::released);
  EXPECT_EQ(replies[3].verdict, Verdict::granted);
  EXPECT_EQ(
      guard->value("SELECT string_agg(key || ' ' || coalesce(locked_by, '-'), ', ' ORDER BY key) FROM locks"),
      "a ann, b -, c bob");
  guard->run("COMMIT");
  EXPECT_TRUE(ours.connection().apply(batch, replies, soon()));
}

// As when the commit of a given-up acquire waits for a standby: nobody sees its row yet.
TEST_F(Locker, a_release_waits_for_a_row_that_is_being_inserted) {
  Caller ours(url());
  const auto ghost = psql();
  const Request one[] = {{.verb = Verb::release, .key = {"k"}, .owner = {"ann"}}};
  const Request two[] = {one[0], {.verb = Verb::release, .key = {"absent"}, .owner = {"ann"}}};
  ghost->run("BEGIN; INSERT INTO locks (key, locked_by, sequence) VALUES ('k', 'ann', 7)");
  Reply replies[2];
  const Status alone = ours.connection().apply(one, {replies, 1}, BootClock::now() + 1s);
  ASSERT_FALSE(alone);
  EXPECT_EQ(alone.error().code, Errc::unavailable) << alone.error().detail;
  ASSERT_TRUE(ours.connection().apply(two, replies, BootClock::now() + 2s));
  EXPECT_TRUE(replies[0].error) << "it is not known to be absent";
  EXPECT_FALSE(replies[1].error);
  EXPECT_EQ(replies[1].verdict, Verdict::lost);
  ghost->run("COMMIT");
  ASSERT_TRUE(ours.connection().apply(two, replies, soon()));
  EXPECT_EQ(replies[0].verdict, Verdict::released);
  EXPECT_EQ(replies[1].verdict, Verdict::lost);
  EXPECT_EQ(ours.release("never there", "ann").verdict, Verdict::lost);
  EXPECT_EQ(ours.acquire("never there", "bob").verdict, Verdict::granted);
}

TEST_F(Locker, a_purge_of_ours_leaves_rows_that_ruby_has_only_just_made) {
  Caller ours(url());
  Ruby ruby = this->ruby("k");
  EXPECT_EQ(ours.store().admin()->purge({.free_for = 0ms}, soon()).value().keys, 0u);
  EXPECT_TRUE(ruby.get());
}

}  // namespace
}  // namespace holdfast::test
