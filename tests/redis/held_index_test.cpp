// SPDX-License-Identifier: Apache-2.0
// The index of the keys that are not given back: what `ls` reads.
// docs/internals/adr/0028-redis-index-of-held-keys.md
#include <map>
#include <set>

#include "tests/redis/ruby.h"
#include "tests/redis/suite.h"
#include "tests/support/worker.h"

namespace holdfast::test {
namespace {

const std::string uuid = "c87a0c4e-2b52-4b34-9a4c-7f2d3a4b5c6d";  // as redis_exp_lock calls a holder

class IndexOfHeldKeys : public RedisTest {
 protected:
  // How often the server has run that command since its counts were reset, scripts' calls included.
  long calls(const std::string& command) {
    const std::string stats = redis({"INFO", "commandstats"});
    const std::string field = "cmdstat_" + command + ":calls=";
    const std::size_t at = stats.find(field);
    return at == std::string::npos ? 0 : std::stol(stats.substr(at + field.size()));
  }
  long calls_for(const std::string& command, const Query& query) {
    redis({"CONFIG", "RESETSTAT"});
    (void)caller_.list(query);
    return calls(command);
  }
  std::string index() { return redis({"ZRANGE", "holdfast:held", "0", "-1"}); }
  std::vector<LeaseRow> shown() { return caller_.list({.free = false}).leases; }
  void give_up(Caller& waiter, std::string_view key, std::string_view owner) {
    waiter.ask({.verb = Verb::release, .key = {key}, .owner = {owner}, .place = 1h});
  }
  void purge(Ttl free_for) { (void)caller_.store().admin()->purge({.free_for = free_for}, soon()).value(); }

  Caller caller_{server_.url()}, other_{server_.url()};
};

TEST_F(IndexOfHeldKeys, a_look_among_many_free_keys_reads_only_those_that_are_held_or_waited_for) {
  constexpr int many = 450;
  for (int i = 0; i < many; ++i) {
    caller_.acquire("key " + std::to_string(1000 + i), "ann");
    caller_.release("key " + std::to_string(1000 + i), "ann");
  }
  caller_.acquire("key 1200", "ann");
  other_.acquire("key 1200", "bob", 1h, 1h);
  EXPECT_GE(calls_for("hmget", {.free = true}), many) << "or the server does not count";
  EXPECT_EQ(calls_for("hmget", {.free = false}), 2) << "is it free, and what is known of it";
  EXPECT_EQ(calls_for("zrange", {.what = Query::What::places}), 1);
  EXPECT_EQ(caller_.list({.what = Query::What::places}).places.size(), 1u);
  ASSERT_EQ(shown().size(), 1u);
  EXPECT_EQ(shown()[0].key, "key 1200");
}

TEST_F(IndexOfHeldKeys, has_a_key_from_its_grant_to_its_end_whoever_ends_it) {
  for (const Millis ttl : {Millis(1h), Millis(1h), Millis(never)}) {  // the second is not new to the server
    caller_.acquire("k", "ann", ttl);
    EXPECT_EQ(index(), "k");
    caller_.renew("k", "ann", no_token, 2h);
    EXPECT_EQ(index(), "k");
    caller_.release("k", "ann");
    EXPECT_EQ(index(), "");
    caller_.evict("k", caller_.acquire("k", "ann", ttl).token);
    EXPECT_EQ(index(), "");
  }
  EXPECT_EQ(caller_.list({.free = true}).leases.size(), 1u) << "it is known still";
}

TEST_F(IndexOfHeldKeys, holds_for_each_request_of_a_batch) {
  const Request acquires[] = {{.verb = Verb::acquire, .key = {"a"}, .owner = {"ann"}, .ttl = 1h},
                              {.verb = Verb::acquire, .key = {"b"}, .owner = {"ann"}, .ttl = 1h},
                              {.verb = Verb::release, .key = {"a"}, .owner = {"ann"}},
                              {.verb = Verb::acquire, .key = {"c"}, .owner = {"ann"}, .ttl = 1h}};
  Reply replies[4];
  for (int i = 0; i < 2; ++i) {  // of keys that are new, and of keys that are known
    caller_.connection().apply(acquires, replies, soon()).value();
    EXPECT_EQ(index(), "b\nc");
    for (const char* key : {"b", "c"}) caller_.release(key, "ann");
    EXPECT_EQ(index(), "");
  }
}

TEST_F(IndexOfHeldKeys, is_one_for_each_prefix_and_has_keys_without_it) {
  Caller prefixed(server_.url() + "?prefix=locks:");
  for (int i = 0; i < 2; ++i) {
    prefixed.acquire("k", "ann");
    EXPECT_EQ(redis({"ZRANGE", "holdfast:held:locks:", "0", "-1"}), "k");
    EXPECT_EQ(index(), "");
    prefixed.release("k", "ann");
    EXPECT_EQ(redis({"EXISTS", "holdfast:held:locks:"}), "0");
  }
}

TEST_F(IndexOfHeldKeys, keeps_a_lease_that_ran_out_until_somebody_is_granted_the_key_or_it_is_purged) {
  for (const char* key : {"k", "l"}) caller_.acquire(key, "ann", 1ms);
  ASSERT_TRUE(await([&] { return redis({"EXISTS", "k", "l"}) == "0"; }));
  purge(1h);
  ASSERT_EQ(shown().size(), 2u);
  EXPECT_EQ(shown()[0].owner, "ann");
  EXPECT_EQ(shown()[0].remaining, 0ms);
  caller_.acquire("k", "bob");
  caller_.release("k", "bob");
  EXPECT_EQ(index(), "l");
  purge(0ms);
  EXPECT_EQ(index(), "");
}

TEST_F(IndexOfHeldKeys, keeps_a_released_key_as_long_as_somebody_waits_for_it) {
  caller_.acquire("k", "ann");
  other_.acquire("k", "bob", 1h, 1h);
  caller_.release("k", "ann");
  EXPECT_EQ(index(), "k");
  ASSERT_EQ(shown().size(), 1u);
  EXPECT_EQ(shown()[0].owner, "");
  EXPECT_EQ(shown()[0].waiting, 1u);
  give_up(other_, "k", "bob");
  EXPECT_EQ(index(), "");
}

TEST_F(IndexOfHeldKeys, has_the_key_of_a_waiter_that_was_served) {
  const Token token = caller_.acquire("k", "ann").token;
  other_.acquire("k", "bob", 1h, 1h);
  caller_.evict("k", token);
  EXPECT_EQ(index(), "k");
  EXPECT_EQ(other_.acquire("k", "bob", 1h, 1h).verdict, Verdict::granted);
  EXPECT_EQ(index(), "k");
  other_.release("k", "bob");
  EXPECT_EQ(index(), "");
}

TEST_F(IndexOfHeldKeys, a_purge_takes_away_keys_whose_waiters_have_died) {
  caller_.acquire("k", "ann");
  other_.acquire("k", "bob", 1h, 1h);
  caller_.release("k", "ann");
  redis({"ZADD", "holdfast:places:{k}", "1", redis({"ZRANGE", "holdfast:places:{k}", "0", "0"})});
  purge(never);
  EXPECT_EQ(index(), "");
  EXPECT_EQ(caller_.list({.free = true}).leases.size(), 1u) << "it is known still";
}

TEST_F(IndexOfHeldKeys, a_lease_of_another_program_is_shown_once_one_of_us_has_met_it) {
  redis({"SET", "nightly", uuid, "PX", "60000", "NX"});
  EXPECT_TRUE(shown().empty());
  EXPECT_EQ(caller_.acquire("nightly", "ann").owner, uuid);
  for (const bool free : {false, true}) {
    const auto rows = caller_.list({.free = free}).leases;
    ASSERT_EQ(rows.size(), 1u);
    EXPECT_EQ(rows[0].owner, uuid);
    EXPECT_EQ(rows[0].token, no_token);
    EXPECT_GT(rows[0].remaining, 50s);
  }
  redis({"DEL", "nightly"});
  EXPECT_TRUE(shown().empty());
  caller_.acquire("nightly", "ann");
  caller_.release("nightly", "ann");
  EXPECT_EQ(index(), "");
  // The same on a key that we know.
  redis({"SET", "nightly", uuid, "PX", "60000", "NX"});
  caller_.acquire("nightly", "ann");
  ASSERT_EQ(shown().size(), 1u);
  EXPECT_EQ(shown()[0].owner, uuid);
  EXPECT_EQ(caller_.release("nightly", uuid).verdict, Verdict::released) << "as an operator frees it";
  EXPECT_EQ(index(), "");
}

TEST_F(IndexOfHeldKeys, a_lease_of_ruby_is_shown_once_one_of_us_has_met_it) {
  Caller ours(server_.url() + "?layout=active_job_lock");
  Ruby ruby(server_, "lock:Job:1");
  ASSERT_TRUE(ruby.acquire(60));
  EXPECT_EQ(ours.acquire("lock:Job:1", "ann").verdict, Verdict::busy);
  const auto rows = ours.list({.free = false}).leases;
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0].owner, stranger);
  ruby.release();
  EXPECT_TRUE(ours.list({.free = false}).leases.empty());
}

TEST_F(IndexOfHeldKeys, a_lease_of_another_program_is_swept_when_it_is_over_and_moves_no_token) {
  for (const std::string key : {"lasting", "over"}) {
    redis({"SET", key, uuid});
    caller_.acquire(key, "ann");
  }
  EXPECT_EQ(index(), "lasting\nover");
  redis({"DEL", "over"});
  for (int i = 0; i < 4; ++i) caller_.acquire("new " + std::to_string(i), "ann");
  EXPECT_EQ(redis({"ZSCORE", "holdfast:held", "over"}), "(nil)");
  EXPECT_EQ(redis({"ZSCORE", "holdfast:index", "over"}), "(nil)");
  EXPECT_EQ(redis({"ZSCORE", "holdfast:kept", "over"}), "(nil)");
  EXPECT_EQ(redis({"ZSCORE", "holdfast:held", "lasting"}), "0");
  EXPECT_EQ(redis({"ZSCORE", "holdfast:index", "lasting"}), "0");
  redis({"DEL", "lasting"});
  const Reply ours = caller_.acquire("lasting", "ann");
  EXPECT_LE(to_number(ours.token), static_cast<std::uint64_t>(ours.now)) << "ahead of the server's clock";
}

TEST_F(IndexOfHeldKeys, a_purge_forgets_what_another_program_has_given_back) {
  redis({"SET", "nightly", uuid, "PX", "60000", "NX"});
  caller_.acquire("nightly", "ann");
  purge(0ms);
  EXPECT_EQ(index(), "nightly");
  redis({"DEL", "nightly"});
  purge(0ms);
  EXPECT_EQ(redis({"EXISTS", "holdfast:held", "holdfast:index", "holdfast:kept"}), "0");
}

TEST_F(IndexOfHeldKeys, a_server_without_memory_still_says_who_holds_the_key_of_another_program) {
  redis({"SET", "nightly", uuid, "PX", "60000", "NX"});
  redis({"CONFIG", "SET", "maxmemory", "1"});
  const auto reply = caller_.try_acquire("nightly");
  ASSERT_TRUE(reply) << reply.error().detail;
  EXPECT_EQ(reply->verdict, Verdict::busy);
  EXPECT_EQ(reply->owner, uuid);
}

TEST_F(IndexOfHeldKeys, has_the_locks_of_jobs_while_these_run) {
  for (const std::string layout : {"own", "active_job_lock"}) {
    Worker worker(server_.url() + "?prefix=" + layout + ":&layout=" + layout);
    const auto locks = [&] { return redis({"ZRANGE", "holdfast:held:" + layout + ":", "0", "-1"}); };
    worker.enqueue("k", {.limit = 1});
    const Claimed claimed = worker.claim("w");
    ASSERT_EQ(claimed.what, Got::running);
    EXPECT_EQ(locks(), "k");
    EXPECT_TRUE(worker.finish(claimed).released);
    EXPECT_EQ(locks(), "");
  }
}

// What happens at random leaves the short list as a part of the long one.
TEST_F(IndexOfHeldKeys, is_what_a_look_at_all_known_keys_would_have_found) {
  const std::uint64_t seed = random_bits();
  SCOPED_TRACE("seed " + std::to_string(seed));
  for (const std::string layout : {"own", "active_job_lock"}) {
    const std::string url = server_.url() + "?prefix=" + layout + ":&layout=" + layout;
    Caller callers[] = {Caller(url), Caller(url), Caller(url)};
    Jitter random(seed);
    std::map<std::string, Token> last;
    for (int i = 0; i < 400; ++i) {
      const std::string key(1, static_cast<char>('a' + random.below(4)));
      const std::size_t who = random.below(3);
      const std::string owner = "owner " + std::to_string(who);
      const Millis place = random.below(2) == 0 ? 1h : 0ms;
      switch (random.below(8)) {
        case 0:
        case 1:
        case 2: {
          const Millis ttl = random.below(4) == 0   ? Millis(1ms)
                             : random.below(4) == 0 ? Millis(never)
                                                    : Millis(1h);
          const Reply reply = callers[who].acquire(key, owner, ttl, place);
          if (reply.verdict == Verdict::granted) last[key] = reply.token;
          break;
        }
        case 3:
        case 4:
        case 5:
          callers[who].ask({.verb = Verb::release, .key = {key}, .owner = {owner}, .place = place});
          break;
        case 6: callers[who].evict(key, last[key]); break;
        default: (void)callers[who].store().admin()->purge({.free_for = place}, soon()).value();
      }
      std::set<std::string> found, expected;
      for (const LeaseRow& row : callers[0].list({.free = false}).leases) found.insert(row.key);
      for (const LeaseRow& row : callers[0].list({.free = true}).leases)
        if (!row.owner.empty() || row.waiting > 0) expected.insert(row.key);
      ASSERT_EQ(found, expected) << layout << ", step " << i;
      ASSERT_EQ(redis({"ZCARD", "holdfast:held:" + layout + ":"}), std::to_string(found.size()))
          << "step " << i;
    }
  }
}

}  // namespace
}  // namespace holdfast::test
