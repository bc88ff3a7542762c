// SPDX-License-Identifier: Apache-2.0
// Data of other programs under the key of a lease, and leases that look like such data.
#include "core/table_version.h"
#include "tests/redis/documented_acl.h"
#include "tests/redis/suite.h"
#include "tests/support/findings.h"
#include "tests/support/worker.h"

namespace holdfast::test {
namespace {

class OtherDataOfRedis : public RedisTest {
 protected:
  // A string of 70 MB, more than a client takes for an answer.
  void make_long(const std::string& key) { redis({"SETRANGE", key, "73400319", "x"}); }
  // Has the server run that command since the last time?
  bool ran(const std::string& command) {
    const bool did = mentions(redis({"INFO", "commandstats"}), "cmdstat_" + command + ":");
    redis({"CONFIG", "RESETSTAT"});
    return did;
  }

  Caller caller_{server_.url()};
};

TEST_F(OtherDataOfRedis, a_string_without_an_expiry_and_a_holder_is_no_lease) {
  redis({"SET", "nightly", "app data"});
  const auto asked = caller_.try_acquire("nightly");
  ASSERT_FALSE(asked) << "it reads as held by " << asked->owner;
  EXPECT_EQ(asked.error().code, Errc::refused);
  for (const char* words : {"\"nightly\"", "data of another program", "no expiry", "?prefix="})
    EXPECT_TRUE(mentions(asked.error().detail, words)) << asked.error().detail;
  const auto shown = caller_.connection().list({.prefix = "nightly", .exact = true}, soon());
  ASSERT_FALSE(shown);
  EXPECT_EQ(shown.error().detail, asked.error().detail);
  EXPECT_EQ(redis({"GET", "nightly"}), "app data");
  Caller apart(server_.url() + "?prefix=locks:");
  EXPECT_EQ(apart.acquire("nightly", "ann").verdict, Verdict::granted);
}

TEST_F(OtherDataOfRedis, of_a_newer_holdfast_is_refused_and_not_changed) {
  redis({"SET", "holdfast:version", std::to_string(core::table_version)});
  EXPECT_EQ(Caller(server_.url()).acquire("k", "ann").verdict, Verdict::granted);
  redis({"SET", "holdfast:version", std::to_string(core::table_version + 1)});
  const auto store = try_store(server_.url()).value();
  const auto connected = store->connect(soon());
  ASSERT_FALSE(connected);
  EXPECT_EQ(connected.error().code, Errc::refused);
  EXPECT_TRUE(mentions(connected.error().detail, "the key holdfast:version was written by a newer Holdfast"))
      << connected.error().detail;
  EXPECT_EQ(store->jobs(soon()).error().code, Errc::refused);
  EXPECT_EQ(Caller(server_.url() + "?prefix=other:").acquire("k", "ann").verdict, Verdict::granted);
}

TEST_F(OtherDataOfRedis, of_a_newer_holdfast_whose_version_is_no_number_is_refused_by_the_same_sentence) {
  const auto expect_refused = [&](const std::string& version) {
    const auto connected = try_store(server_.url()).value()->connect(soon());
    ASSERT_FALSE(connected) << version;
    EXPECT_EQ(connected.error().code, Errc::refused) << connected.error().detail;
    const std::string sentence =
        "the key holdfast:version was written by a newer Holdfast (version " + version;
    EXPECT_TRUE(mentions(connected.error().detail, sentence)) << connected.error().detail;
  };
  for (const std::string version : {"4.1", "four", "99999999999999999999"}) {
    redis({"SET", "holdfast:version", version});
    expect_refused(version);
  }
  redis({"SET", "holdfast:version", ""});
  expect_refused("");
  redis({"DEL", "holdfast:version"});
  redis({"HSET", "holdfast:version", "needs", "4"});
  expect_refused("of another type");
}

TEST_F(OtherDataOfRedis, among_others_it_is_refused_as_well_and_harms_no_other) {
  redis({"SET", "nightly", "app data"});
  const std::vector<Request> requests{
      {.verb = Verb::acquire, .key = {"nightly"}, .owner = {"ann"}, .ttl = 1h},
      {.verb = Verb::acquire, .key = {"daily"}, .owner = {"ann"}, .ttl = 1h}};
  std::vector<Reply> replies(2);
  ASSERT_TRUE(caller_.connection().apply(requests, replies, soon()));
  ASSERT_TRUE(replies[0].error);
  EXPECT_EQ(replies[0].error->code, Errc::refused);
  EXPECT_EQ(replies[1].verdict, Verdict::granted);
}

TEST_F(OtherDataOfRedis, the_holder_of_a_key_that_other_data_replaced_has_lost_it) {
  caller_.acquire("nightly", "ann");
  redis({"SET", "nightly", "app data"});
  EXPECT_EQ(caller_.renew("nightly", "ann").verdict, Verdict::lost);
  EXPECT_EQ(caller_.release("nightly", "ann").verdict, Verdict::lost);
  EXPECT_EQ(redis({"GET", "nightly"}), "app data");
}

// A value that may be a lease: with an expiry, a UUID as redis_exp_lock writes it, or an owner in our facts.
TEST_F(OtherDataOfRedis, what_may_be_a_lease_is_busy) {
  redis({"SET", "expires", "app data", "PX", "3600000"});
  redis({"SET", "uuid", "0b8e2a5c-5a43-4c0b-9d0e-1c2d3e4f5a6b"});
  redis({"SET", "forgotten", "host:db1 pid:17 guid:0123456789abcdef0123456789abcdef"});
  caller_.acquire("endless", "olga", never);
  for (const char* key : {"expires", "uuid", "forgotten", "endless"})
    EXPECT_EQ(caller_.acquire(key, "ann").verdict, Verdict::busy) << key;
  EXPECT_EQ(caller_.acquire("endless", "olga").verdict, Verdict::granted);
  redis({"SET", "by-name", "olga"});
  EXPECT_EQ(caller_.acquire("by-name", "olga").verdict, Verdict::granted) << "who is named there";
}

TEST_F(OtherDataOfRedis, is_counted_by_doctor_where_leases_are_named) {
  const auto diagnosis = [&](const std::string& parameters = "") {
    return try_store(server_.url() + parameters).value()->admin()->diagnose(soon()).value();
  };
  caller_.acquire("endless", "olga", never);
  caller_.acquire("nightly", "ann");
  redis({"SET", "uuid", "0b8e2a5c-5a43-4c0b-9d0e-1c2d3e4f5a6b"});
  redis({"HSET", "cart", "apples", "3"});
  EXPECT_FALSE(about(diagnosis(), "redis.other-keys"));
  redis({"SET", "report", "app data"});
  redis({"SET", "l*cks:image", std::string(1 << 16, 'x')});
  redis({"SET", "locks:x", "1"});
  ASSERT_TRUE(has(diagnosis(), "redis.other-keys", Severity::note));
  EXPECT_TRUE(the(diagnosis(), "redis.other-keys").what.starts_with("3 keys do not look like leases"));
  EXPECT_TRUE(the(diagnosis("?prefix=l*cks:"), "redis.other-keys")
                  .what.starts_with("1 key does not look like a lease"));
  EXPECT_TRUE(mentions(the(diagnosis("?prefix=l*cks:"), "redis.other-keys").what, "\"image\""));
  EXPECT_FALSE(about(diagnosis("?db=1"), "redis.other-keys"));
}

// The keys beside a lease are Holdfast's, but nobody keeps other programs from writing there.
TEST_F(OtherDataOfRedis, beside_a_lease_makes_requests_for_that_key_fail_and_no_other) {
  for (const std::string word : {"facts", "queue", "places"}) {
    const std::string name = "holdfast:" + word + ":{k}", before = word + " 1", behind = word + " 2";
    caller_.acquire("k", "ann");
    redis({"SET", name, "x"});
    const std::vector<Request> requests{
        {.verb = Verb::acquire, .key = {before}, .owner = {"bob"}, .ttl = 1h},
        {.verb = Verb::acquire, .key = {"k"}, .owner = {"bob"}, .ttl = 1h, .place = 1h},
        {.verb = Verb::acquire, .key = {behind}, .owner = {"bob"}, .ttl = 1h}};
    std::vector<Reply> replies(3);
    const Status status = caller_.connection().apply(requests, replies, soon());
    ASSERT_TRUE(status) << word << ": " << status.error().detail;
    EXPECT_EQ(replies[0].verdict, Verdict::granted) << word;
    EXPECT_EQ(replies[2].verdict, Verdict::granted) << word;
    ASSERT_TRUE(replies[1].error) << word;
    EXPECT_EQ(replies[1].error->code, Errc::refused) << word;
    EXPECT_TRUE(mentions(replies[1].error->detail, "\"" + name + "\"")) << replies[1].error->detail;
    EXPECT_EQ(redis({"GET", name}), "x");
    redis({"DEL", name});
    EXPECT_EQ(caller_.acquire("k", "bob", 1h, 1h).verdict, Verdict::busy) << word;
    EXPECT_EQ(caller_.release("k", "ann").verdict, Verdict::released) << word;
    redis({"DEL", "holdfast:queue:{k}", "holdfast:places:{k}", "holdfast:facts:{k}"});
  }
}

TEST_F(OtherDataOfRedis, beside_a_lease_is_no_reason_to_believe_that_it_is_lost) {
  const Token token = caller_.acquire("k", "ann").token;
  const auto renew = [&] {
    return caller_.try_ask({.verb = Verb::renew, .key = {"k"}, .owner = {"ann"}, .token = token, .ttl = 1h});
  };
  redis({"SET", "holdfast:queue:{k}", "x"});
  redis({"SET", "holdfast:places:{k}", "x"});
  EXPECT_EQ(renew().value().verdict, Verdict::granted) << "which needs neither";
  redis({"SET", "holdfast:facts:{k}", "x"});
  for (const Verb verb : {Verb::renew, Verb::release}) {
    const auto told = caller_.try_ask({.verb = verb, .key = {"k"}, .owner = {"ann"}, .ttl = 1h});
    ASSERT_FALSE(told);
    EXPECT_EQ(told.error().code, Errc::refused);
  }
  EXPECT_EQ(redis({"GET", "k"}), "ann");
  redis({"DEL", "holdfast:facts:{k}"});
  EXPECT_EQ(renew().value().verdict, Verdict::lost) << "its token is gone, as redis.md says";
}

TEST_F(OtherDataOfRedis, beside_a_lease_is_not_listed_and_hides_no_other) {
  Caller waiter(server_.url());
  for (const char* key : {"facts", "places", "queue", "unharmed"}) {
    caller_.acquire(key, "ann");
    EXPECT_EQ(waiter.acquire(key, "bob", 1h, 1h).verdict, Verdict::busy);
  }
  for (const std::string word : {"facts", "places", "queue"})
    redis({"SET", "holdfast:" + word + ":{" + word + "}", "x"});
  for (const bool free : {false, true}) {
    const auto listed = caller_.connection().list({.free = free}, soon());
    ASSERT_TRUE(listed) << listed.error().detail;
    ASSERT_EQ(listed->leases.size(), 4u);
    for (const LeaseRow& row : listed->leases) EXPECT_EQ(row.owner, "ann") << row.key;
  }
  const auto waiting = caller_.connection().list({.what = Query::What::places}, soon());
  ASSERT_TRUE(waiting) << waiting.error().detail;
  EXPECT_EQ(waiting->places.size(), 2u) << "of the one without facts, and of the last";
  const auto purged = caller_.store().admin()->purge({.free_for = 0ms}, soon());
  EXPECT_TRUE(purged) << purged.error().detail;
  redis({"DEL", "facts"});
  const auto shown = caller_.connection().list({.prefix = "facts", .exact = true}, soon());
  ASSERT_FALSE(shown) << "it cannot be leased";
  EXPECT_EQ(shown.error().detail, caller_.try_acquire("facts").error().detail);
}

// A sweep looks at what lies beside other keys.
TEST_F(OtherDataOfRedis, beside_a_lease_without_end_harms_no_grant_that_sweeps) {
  caller_.acquire("endless", "olga", never);
  redis({"DEL", "endless"});
  redis({"SET", "holdfast:facts:{endless}", "x"});
  redis({"ZADD", "holdfast:kept", "10000000000000", "endless"});  // seen long ago
  const auto told = caller_.try_acquire("new");
  ASSERT_TRUE(told) << told.error().detail;
  EXPECT_EQ(told->verdict, Verdict::granted);
}

TEST_F(OtherDataOfRedis, beside_the_lock_of_a_job_or_in_its_place_harms_no_other_job) {
  Worker worker(server_.url());
  redis({"SET", "holdfast:facts:{a}", "x"});
  EXPECT_EQ(worker.loner("a").what, EnqueueOutcome::locked);
  for (const char* key : {"a", "b", "c", "d"}) worker.enqueue(key, {.limit = 1});
  const auto dropped = worker.try_claim("w");
  ASSERT_TRUE(dropped) << dropped.error().detail;
  EXPECT_EQ(dropped->what, Got::dropped);
  EXPECT_TRUE(mentions(dropped->blocker, "holdfast:facts:{a}")) << dropped->blocker;
  const Claimed b = worker.claim("w"), c = worker.claim("w");
  ASSERT_EQ(b.job.key, "b");
  ASSERT_EQ(c.job.key, "c");
  redis({"SET", "holdfast:jobs:job:" + std::to_string(to_number(b.job.id)), "x"});
  const ClaimRef both[] = {{b.job.id, {b.job.owner}, 2h}, {c.job.id, {c.job.owner}, 2h}};
  ClaimReply replies[2] = {{.held = true}, {}};
  const Status renewed = worker.engine().renew(both, replies, soon());
  ASSERT_TRUE(renewed) << renewed.error().detail;
  EXPECT_FALSE(replies[0].held);
  EXPECT_TRUE(replies[1].held);
  const auto listed = worker.engine().list({}, soon());
  ASSERT_TRUE(listed) << listed.error().detail;
  EXPECT_EQ(listed->size(), 3u);
  EXPECT_EQ(worker.claim("w").job.key, "d");
}

TEST_F(OtherDataOfRedis, that_is_longer_than_any_lease_is_refused_and_not_read) {
  for (const std::string layout : {"own", "active_job_lock"}) {
    Caller caller(server_.url() + "?prefix=" + layout + ":&layout=" + layout);
    caller.acquire("known", "ann");
    for (const std::string key : {"cache", "known"}) {
      make_long(layout + ":" + key);
      redis({"PEXPIRE", layout + ":" + key, "3600000"});
    }
    const std::vector<Request> requests{
        {.verb = Verb::acquire, .key = {"cache"}, .owner = {"bob"}, .ttl = 1h, .place = 1h},
        {.verb = Verb::acquire, .key = {"known"}, .owner = {"bob"}, .ttl = 1h},
        {.verb = Verb::renew, .key = {"known"}, .owner = {"cat"}, .ttl = 1h}};
    std::vector<Reply> replies(3);
    (void)ran("get");
    const Status status = caller.connection().apply(requests, replies, soon());
    ASSERT_TRUE(status) << layout << ": " << status.error().detail;
    EXPECT_FALSE(ran("get"));
    for (const Reply& reply : {replies[0], replies[1]}) {
      ASSERT_TRUE(reply.error);
      EXPECT_EQ(reply.error->code, Errc::refused);
      EXPECT_TRUE(mentions(reply.error->detail, "a string of 73400320 bytes")) << reply.error->detail;
    }
    EXPECT_EQ(replies[2].verdict, Verdict::lost);
    const auto listed = caller.connection().list({.free = false}, soon());
    ASSERT_TRUE(listed) << layout << ": " << listed.error().detail;
    ASSERT_EQ(listed->leases.size(), 1u);
    EXPECT_EQ(listed->leases[0].key, "known");
    EXPECT_EQ(listed->leases[0].owner, "(not a lease: a string of 73400320 bytes)");
    EXPECT_FALSE(ran("get"));
    Worker worker(server_.url() + "?prefix=" + layout + ":&layout=" + layout);
    EXPECT_EQ(worker.loner("cache").owner, "(not a lease: a string of 73400320 bytes)");
  }
}

TEST_F(OtherDataOfRedis, that_is_as_long_as_a_lease_can_be_is_one) {
  const std::string longest(512, 'x');
  for (const std::string layout : {"own", "active_job_lock"}) {
    Caller caller(server_.url() + "?prefix=" + layout + ":&layout=" + layout);
    for (const Millis ttl : {Millis(1h), Millis(never)}) {
      EXPECT_EQ(caller.acquire("k", longest, ttl).verdict, Verdict::granted);
      EXPECT_EQ(caller.acquire("k", "bob").owner, longest);
      EXPECT_EQ(caller.list({}).leases.at(0).owner, longest);
      EXPECT_EQ(caller.release("k", longest).verdict, Verdict::released);
    }
  }
}

// Before this right was documented, nobody gave it.
TEST_F(OtherDataOfRedis, that_is_too_long_is_refused_also_where_the_user_may_not_ask_for_its_length) {
  redis(documented_acl(HOLDFAST_SOURCE "/docs/stores/redis.md"));
  redis({"ACL", "SETUSER", "app", "-strlen"});
  redis({"SET", "locks:page", std::string(1000, 'x'), "PX", "3600000"});
  Caller caller("redis://app:secret@127.0.0.1:" + std::to_string(server_.port()) + "?prefix=locks:");
  EXPECT_EQ(caller.acquire("k", "ann").verdict, Verdict::granted);
  EXPECT_EQ(caller.acquire("k", "bob").owner, "ann");
  const auto told = caller.try_acquire("page");
  ASSERT_FALSE(told) << "it reads as held by " << told->owner;
  EXPECT_TRUE(mentions(told.error().detail, "a string of 1000 bytes")) << told.error().detail;
}

// Looking for such data costs uncontended requests nothing.
TEST_F(OtherDataOfRedis, is_not_looked_for_where_nobody_contends) {
  caller_.acquire("k", "ann", 3h);
  caller_.release("k", "ann");
  for (const char* command : {"strlen", "zcard", "type"}) {
    (void)ran(command);
    caller_.acquire("k", "ann", 1h, 1h);
    caller_.renew("k", "ann", no_token, 2h);
    caller_.release("k", "ann");
    EXPECT_FALSE(ran(command)) << command;
  }
}

}  // namespace
}  // namespace holdfast::test
