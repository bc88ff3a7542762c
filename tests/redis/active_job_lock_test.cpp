// SPDX-License-Identifier: Apache-2.0
// Leases beside Ruby processes with active_job_lock, whose commands are played by hand, on the same keys.
#include "tests/redis/ruby.h"
#include "tests/support/findings.h"
#include "tests/support/leases.h"

namespace holdfast::test {
namespace {

class BesideActiveJobLock : public RedisTest {
 protected:
  std::string url() const { return server_.url() + "?layout=active_job_lock"; }

  Ruby ruby_{server_, "lock:Job:1"};
  Caller ours_{url()};
};

TEST_F(BesideActiveJobLock, what_we_hold_is_locked_for_it_and_free_after_our_release) {
  ours_.acquire("lock:Job:1", "ann", 1min);
  EXPECT_FALSE(ruby_.acquire());
  EXPECT_FALSE(ruby_.acquire(10));
  EXPECT_TRUE(ruby_.locked());
  EXPECT_EQ(ours_.renew("lock:Job:1", "ann").verdict, Verdict::granted);
  EXPECT_EQ(ours_.release("lock:Job:1", "ann").verdict, Verdict::released);
  EXPECT_EQ(ruby_.value(), "(nil)");
  EXPECT_TRUE(ruby_.acquire(10));
}

TEST_F(BesideActiveJobLock, what_it_holds_is_busy_for_us_and_free_after_its_release) {
  ASSERT_TRUE(ruby_.acquire(60));
  const std::string theirs = ruby_.value();
  const Reply busy = ours_.acquire("lock:Job:1", "ann");
  EXPECT_EQ(busy.verdict, Verdict::busy);
  EXPECT_EQ(busy.owner, stranger);
  EXPECT_EQ(busy.token, no_token);
  EXPECT_GT(busy.remaining, 50s);
  EXPECT_LE(busy.remaining, 61s) << "to the end of its last second";
  EXPECT_EQ(ours_.renew("lock:Job:1", "ann").verdict, Verdict::lost);
  EXPECT_EQ(ours_.release("lock:Job:1", "ann").verdict, Verdict::lost);
  EXPECT_EQ(ruby_.value(), theirs);
  ruby_.release();
  EXPECT_EQ(ours_.acquire("lock:Job:1", "ann").verdict, Verdict::granted);
}

TEST_F(BesideActiveJobLock, an_owner_with_the_name_shown_for_ruby_is_not_ruby) {
  ASSERT_TRUE(ruby_.acquire(60));
  EXPECT_EQ(ours_.acquire("lock:Job:1", stranger).verdict, Verdict::busy);
  EXPECT_EQ(ours_.release("lock:Job:1", stranger).verdict, Verdict::lost);
  EXPECT_TRUE(ruby_.locked());
}

// It would itself read a zero there, and take it over.
TEST_F(BesideActiveJobLock, its_lock_without_timeout_is_held_without_end) {
  ASSERT_TRUE(ruby_.acquire());
  EXPECT_EQ(ruby_.value(), "true");
  const Reply busy = ours_.acquire("lock:Job:1", "ann");
  EXPECT_EQ(busy.verdict, Verdict::busy);
  EXPECT_EQ(busy.remaining, never);
  EXPECT_EQ(ruby_.value(), "true");
}

// It would itself read a zero there too.
TEST_F(BesideActiveJobLock, a_value_that_is_no_time_is_held_without_end) {
  for (const std::string value : {"soon", "", "-5", "e5"}) {
    redis({"SET", "lock:Job:1", value});
    const Reply busy = ours_.acquire("lock:Job:1", "ann");
    EXPECT_EQ(busy.verdict, Verdict::busy) << value;
    EXPECT_EQ(busy.remaining, never) << value;
    const auto shown = ours_.list({.prefix = "lock:Job:1", .exact = true}).leases;
    ASSERT_EQ(shown.size(), 1u) << value;
    EXPECT_EQ(shown[0].key, "lock:Job:1");
    EXPECT_EQ(shown[0].owner, stranger) << value;
    EXPECT_EQ(shown[0].remaining, never) << value;
    EXPECT_EQ(ruby_.value(), value);
  }
}

TEST_F(BesideActiveJobLock, its_lock_is_ours_when_its_second_is_over_and_not_in_it) {
  for (const int ago : {0, 1, 2}) {
    const long long until = ruby_.now() - ago;
    redis({"SET", "lock:Job:1", std::to_string(until)});
    const Reply reply = ours_.acquire("lock:Job:1", "ann");
    const bool over = until < static_cast<long long>(reply.now) / 1'000'000;
    EXPECT_EQ(reply.verdict, over ? Verdict::granted : Verdict::busy) << ago;
    redis({"DEL", "lock:Job:1"});
  }
}

TEST_F(BesideActiveJobLock, a_time_with_a_fraction_is_read_as_it_reads_it) {
  redis({"SET", "lock:Job:1", std::to_string(ruby_.now() + 50) + ".5"});
  EXPECT_EQ(ours_.acquire("lock:Job:1", "ann").verdict, Verdict::busy);
  redis({"SET", "lock:Job:1", std::to_string(ruby_.now() - 1) + ".9"});
  EXPECT_EQ(ours_.acquire("lock:Job:1", "ann").verdict, Verdict::granted);
}

TEST_F(BesideActiveJobLock, what_is_written_is_a_second_not_before_the_end_in_which_its_holder_believes) {
  for (const Millis ttl : {1ms, 999ms, 1000ms, 1001ms, 2500ms, 60'000ms}) {
    const Reply reply = ours_.acquire("lock:Job:1", "ann", ttl);
    const auto now = static_cast<std::int64_t>(reply.now);
    const std::string value = ruby_.value();
    EXPECT_GE(to_i(value) * 1'000'000, now + Micros(ttl).count());
    EXPECT_LT((to_i(value) - 1) * 1'000'000, now + Micros(ttl).count()) << "nor much later";
    EXPECT_EQ(value, std::to_string(to_i(value)) + ":" + std::to_string(to_number(reply.token)) + ":" +
                         std::to_string(now + Micros(ttl).count()) + ":ann");
    const long long expires = std::stoll(redis({"PEXPIRETIME", "lock:Job:1"}));
    EXPECT_EQ(expires, (to_i(value) + 2) * 1000) << "Redis takes it away, when Ruby could have";
    redis({"DEL", "lock:Job:1"});
  }
}

TEST_F(BesideActiveJobLock, it_takes_ours_over_only_when_nobody_believes_in_it_and_we_learn_it) {
  const Reply mine = ours_.acquire("lock:Job:1", "ann", 300ms);
  const long long ends = static_cast<long long>(mine.now) + 300'000;
  ASSERT_TRUE(await([&] { return ruby_.acquire(60); }));
  EXPECT_GT(wall_now().time_since_epoch().count(), ends);
  const Reply lost = ours_.renew("lock:Job:1", "ann", mine.token);
  EXPECT_EQ(lost.verdict, Verdict::lost);
  EXPECT_EQ(lost.owner, stranger);
  EXPECT_EQ(ours_.release("lock:Job:1", "ann", mine.token).verdict, Verdict::lost);
  EXPECT_TRUE(ruby_.locked());
  ruby_.release();
  EXPECT_GT(ours_.acquire("lock:Job:1", "bob").token, mine.token);
}

TEST_F(BesideActiveJobLock, one_of_ours_takes_over_from_another_as_soon_as_that_has_ended) {
  const Reply mine = ours_.acquire("lock:Job:1", "ann", 2ms);
  Reply next;
  ASSERT_TRUE(
      await([&] { return (next = ours_.acquire("lock:Job:1", "bob", 1h)).verdict == Verdict::granted; }));
  EXPECT_GT(next.token, mine.token);
  EXPECT_EQ(ours_.list({.what = Query::What::log}).log.at(0).event, "taken-over");
}

// It has read an old value, then we took the lock, then it writes: it sees that it has lost, and ours is
// gone.
TEST_F(BesideActiveJobLock, a_contender_of_its_that_loses_and_writes_over_ours_takes_nothing_from_us) {
  const Reply mine = ours_.acquire("lock:Job:1", "ann", 1min);
  ASSERT_FALSE(ruby_.contend(30));
  ASSERT_EQ(to_i(ruby_.value()), std::stoll(ruby_.value())) << "nothing of ours is in it";
  EXPECT_EQ(ours_.acquire("lock:Job:1", "bob").owner, "ann");
  EXPECT_EQ(ours_.row("lock:Job:1").owner, "ann");
  const Reply renewed = ours_.renew("lock:Job:1", "ann", mine.token, 1s);
  EXPECT_EQ(renewed.verdict, Verdict::granted);
  EXPECT_EQ(renewed.token, mine.token);
  EXPECT_GT(renewed.remaining, 50s);
  EXPECT_TRUE(ruby_.value().ends_with(":ann")) << "and it is written again";
  ASSERT_FALSE(ruby_.contend(30));
  EXPECT_EQ(ours_.release("lock:Job:1", "ann", mine.token).verdict, Verdict::released);
  EXPECT_EQ(ruby_.value(), "(nil)");
}

TEST_F(BesideActiveJobLock, one_that_was_written_over_is_its_own_when_our_lease_has_ended) {
  const Reply mine = ours_.acquire("lock:Job:1", "ann", 2ms);
  let_pass(4ms);
  ruby_.refresh(60);
  EXPECT_EQ(ours_.renew("lock:Job:1", "ann", mine.token).verdict, Verdict::lost);
  EXPECT_EQ(ours_.release("lock:Job:1", "ann", mine.token).verdict, Verdict::lost);
  EXPECT_TRUE(ruby_.locked());
}

TEST_F(BesideActiveJobLock, a_lock_that_it_made_where_ours_was_deleted_is_its_own) {
  const Reply mine = ours_.acquire("lock:Job:1", "ann", 1min);
  ruby_.release();
  ASSERT_TRUE(ruby_.acquire());
  EXPECT_EQ(ours_.renew("lock:Job:1", "ann", mine.token).verdict, Verdict::lost);
  EXPECT_EQ(ours_.release("lock:Job:1", "ann", mine.token).verdict, Verdict::lost);
  EXPECT_EQ(ruby_.value(), "true");
}

TEST_F(BesideActiveJobLock, ours_without_end_is_true_for_it) {
  const Reply mine = ours_.acquire("lock:Job:1", "ann", never);
  EXPECT_EQ(ruby_.value(), "true:" + std::to_string(to_number(mine.token)) + "::ann");
  EXPECT_EQ(redis({"PTTL", "lock:Job:1"}), "-1");
  EXPECT_FALSE(ruby_.acquire());
  EXPECT_TRUE(ruby_.locked());
  EXPECT_EQ(ours_.acquire("lock:Job:1", "bob").remaining, never);
  EXPECT_EQ(ours_.renew("lock:Job:1", "ann", mine.token, 1s).remaining, never);
  EXPECT_EQ(ours_.release("lock:Job:1", "ann", mine.token).verdict, Verdict::released);
}

TEST_F(BesideActiveJobLock, tokens_rise_across_its_grants_and_across_the_loss_of_our_facts) {
  const Reply first = ours_.acquire("lock:Job:1", "ann");
  redis({"DEL", "holdfast:facts:{lock:Job:1}"});
  const Reply adopted = ours_.renew("lock:Job:1", "ann", no_token, 2h);
  EXPECT_EQ(adopted.token, first.token) << "it stands in the lease itself";
  ours_.release("lock:Job:1", "ann");
  ASSERT_TRUE(ruby_.acquire(60));
  ruby_.release();
  EXPECT_GT(ours_.acquire("lock:Job:1", "ann").token, first.token);
}

// The rows of what its documentation and its code call a key.
TEST_F(BesideActiveJobLock, keys_are_its_own_to_the_letter) {
  for (const std::string key : {"lock:UpdateNetworkGraph:1", "lock:UpdateNetworkGraph",
                                "lock:NoArguments:", "lock:updates", "lock:Admin::Report:1-a--true",
                                "lock:Job:2.5-1.0", R"(lock:Job:{"a"=>1})", "loner:lock:LonelyJob:1"}) {
    Ruby ruby(server_, key);
    EXPECT_EQ(ours_.acquire(key, "ann:with:colons").verdict, Verdict::granted) << key;
    EXPECT_FALSE(ruby.acquire(5)) << key;
    EXPECT_EQ(ours_.acquire(key, "bob").owner, "ann:with:colons");
    EXPECT_EQ(ours_.release(key, "ann:with:colons").verdict, Verdict::released) << key;
    EXPECT_TRUE(ruby.acquire(5)) << key;
    EXPECT_EQ(ours_.acquire(key, "ann").verdict, Verdict::busy) << key;
  }
}

TEST_F(BesideActiveJobLock, the_namespace_of_resque_is_a_prefix_or_a_table) {
  Ruby parent(server_, "resque:lock:RJ:1-a");
  Caller prefixed(server_.url() + "?prefix=resque:&layout=active_job_lock");
  ASSERT_TRUE(parent.acquire(60));
  EXPECT_EQ(prefixed.acquire("lock:RJ:1-a", "ann").verdict, Verdict::busy);
  const auto table = ours_.store().in("resque").value();
  EXPECT_TRUE(mentions(table->name(), "prefix=resque:&layout=active_job_lock")) << table->name();
  const auto connection = table->connect(soon()).value();
  const Request request{.verb = Verb::acquire, .key = {"lock:RJ:1-a"}, .owner = {"ann"}, .ttl = 1min};
  Reply reply;
  ASSERT_TRUE(connection->apply({&request, 1}, {&reply, 1}, soon()));
  EXPECT_EQ(reply.owner, stranger);
  parent.release();
  ASSERT_TRUE(connection->apply({&request, 1}, {&reply, 1}, soon()));
  EXPECT_EQ(reply.verdict, Verdict::granted);
  EXPECT_FALSE(parent.acquire(60));
}

TEST_F(BesideActiveJobLock, its_lock_is_shown_without_facts_of_our_earlier_lease) {
  ours_.acquire("lock:Job:1", "ann"), ours_.release("lock:Job:1", "ann");
  ASSERT_TRUE(ruby_.acquire(60));
  const LeaseRow row = ours_.row("lock:Job:1");
  EXPECT_EQ(row.owner, stranger);
  EXPECT_EQ(row.token, no_token);
  EXPECT_FALSE(row.since);
  EXPECT_GT(row.remaining, 50s);
}

TEST_F(BesideActiveJobLock, a_client_is_notified_that_its_lease_was_taken_over) {
  std::atomic<bool> taken = false;
  Client client = client_that_renews_later(try_store(url()).value(), taken);
  const Lease lease = client.acquire("lock:Job:1", {.renew_every = 100ms});
  ruby_.release();
  ASSERT_TRUE(ruby_.acquire());
  taken = true;
  ASSERT_TRUE(await([&] { return lease.stop_token().stop_requested(); }));
  EXPECT_EQ(lease.lost().reason, Loss::stolen);
  EXPECT_TRUE(mentions(lease.lost().detail, stranger)) << lease.lost().detail;
}

TEST_F(BesideActiveJobLock, examine_reports_what_the_layout_cannot_promise) {
  const std::vector<std::string> sentences = found(ours_.examine());
  const auto tells = [](const std::string& text) { return mentions(text, "layout=active_job_lock"); };
  EXPECT_TRUE(std::any_of(sentences.begin(), sentences.end(), tells));
}

}  // namespace
}  // namespace holdfast::test
