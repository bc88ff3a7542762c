// SPDX-License-Identifier: Apache-2.0
// Beside the Ruby gem: its commands, as it sends them, and ours, both ways round.
#include <atomic>
#include <thread>

#include "base/time.h"
#include "tests/mongodb/suite.h"
#include "tests/support/findings.h"
#include "tests/support/together.h"

namespace holdfast::test {
namespace {

// The gem's commands, by the clock of its machine.
class Ruby {
 public:
  Ruby(std::string database, std::string owner)
      : database_(std::move(database)), me_("\"" + std::move(owner) + "\"") {}

  // What the gem gets back: null if it inserted, else whose document is there.
  std::string acquire_answer(const std::string& key, Millis expire_in = 10s) {
    const std::string end = date(expire_in);
    return run(R"({"findAndModify": "locks", "query": {"key": ")" + key + R"(", "expires_at": {"$gt": )" +
               date(0ms) + R"(}}, "update": {"$setOnInsert": {"key": ")" + key + R"(", "owner": )" + me_ +
               R"(, "expires_at": )" + end + R"(, "ttl": )" + end + R"(}}, "upsert": true, "new": false})");
  }
  bool acquire(const std::string& key, Millis expire_in = 10s) {
    const std::string answer = acquire_answer(key, expire_in);
    return mentions(answer, "\"value\" : null") || mentions(answer, "\"owner\" : " + me_);
  }
  // Without its owner in the query, as the gem does.
  void extend_by(const std::string& key, Millis length) {
    const std::string end = date(length);
    run(R"({"findAndModify": "locks", "query": {"key": ")" + key + R"(", "expires_at": {"$gt": )" +
        date(0ms) + R"(}}, "update": {"$set": {"key": ")" + key + R"(", "owner": )" + me_ +
        R"(, "expires_at": )" + end + R"(, "ttl": )" + end + "}}}");
  }
  void insert(const std::string& key, Millis expire_in) {
    const std::string end = date(expire_in);
    run(R"({"insert": "locks", "documents": [{"key": ")" + key + R"(", "owner": )" + me_ +
        R"(, "expires_at": )" + end + R"(, "ttl": )" + end + "}]}");
  }
  void release(const std::string& key) {
    run(R"({"delete": "locks", "deletes": [{"q": {"key": ")" + key + R"(", "owner": )" + me_ +
        R"(}, "limit": 0}]})");
  }
  void release_all() { run(R"({"delete": "locks", "deletes": [{"q": {}, "limit": 0}]})"); }
  bool available(const std::string& key) {
    return !mentions(run(R"({"find": "locks", "filter": {"key": ")" + key + R"(", "expires_at": {"$gt": )" +
                         date(0ms) + R"(}, "owner": {"$ne": )" + me_ + "}}}"),
                     "owner");
  }
  std::string all(const std::string& key) {
    return run(R"({"find": "locks", "filter": {"key": ")" + key + "\"}}");
  }

 private:
  static std::string date(Millis from_now) {
    const Millis at = std::chrono::floor<Millis>(wall_now().time_since_epoch()) + from_now;
    return R"({"$date": {"$numberLong": ")" + std::to_string(at.count()) + R"("}})";
  }
  std::string run(const std::string& json) { return shared_mongodb().command(database_, json); }

  const std::string database_, me_;
};

class MongoLock : public MongoTest {
 protected:
  std::string beside() const { return with(url(), "layout=mongo-lock"); }

  Ruby ruby_{database_, "web1:123:456"}, other_ruby_{database_, "web2:9:9"};
};

TEST_F(MongoLock, a_document_that_a_validator_does_not_take_harms_no_other_of_its_batch) {
  mongo(R"({"create": "locks.holdfast", "validator": {"_id": {"$ne": "b"}}})");
  Caller caller(beside());
  std::vector<Request> requests;
  for (const char* key : {"a", "b", "c"})
    requests.push_back({.verb = Verb::acquire, .key = {key}, .owner = {"ann"}, .ttl = 1h});
  const auto told = ask_together(caller.connection(), requests);
  ASSERT_FALSE(told[1]);
  EXPECT_EQ(told[1].error().code, Errc::refused) << told[1].error().detail;
  for (const std::size_t good : {0u, 2u}) {
    ASSERT_TRUE(told[good]) << told[good].error().detail;
    EXPECT_EQ(told[good]->verdict, Verdict::granted);
  }
  EXPECT_FALSE(ruby_.available("a"));
  EXPECT_TRUE(ruby_.available("b"));
  EXPECT_FALSE(ruby_.available("c"));
}

TEST_F(MongoLock, what_ruby_holds_is_busy_for_us_and_named) {
  Caller caller(beside());
  ASSERT_TRUE(ruby_.acquire("k"));
  const Reply reply = caller.acquire("k", "ann");
  EXPECT_EQ(reply.verdict, Verdict::busy);
  EXPECT_EQ(reply.owner, "web1:123:456");
  EXPECT_GT(reply.remaining, 5s);
  EXPECT_LT(reply.remaining, 12s);
  ruby_.release("k");
  EXPECT_EQ(caller.acquire("k", "ann").verdict, Verdict::granted);
}

TEST_F(MongoLock, what_we_hold_is_taken_for_ruby) {
  Caller caller(beside());
  const Reply mine = caller.acquire("k", "ann", 1h);
  EXPECT_FALSE(ruby_.acquire("k"));
  EXPECT_FALSE(ruby_.available("k"));
  EXPECT_TRUE(mentions(ruby_.acquire_answer("k"), "\"owner\" : \"ann\""));
  EXPECT_EQ(caller.release("k", "ann", mine.token).verdict, Verdict::released);
  EXPECT_TRUE(ruby_.available("k"));
  EXPECT_TRUE(ruby_.acquire("k"));
}

// The gem makes such texts of ['a', 1, [2, :c]] and {b: 2, a: 1}.
TEST_F(MongoLock, a_list_or_a_hash_of_rubys_is_the_text_that_it_makes_of_it) {
  Caller caller(beside());
  for (const char* key : {"a/1/2/c", "a=1&b=2"}) {
    ASSERT_TRUE(ruby_.acquire(key));
    EXPECT_EQ(caller.acquire(key, "ann").owner, "web1:123:456");
  }
}

TEST_F(MongoLock, our_document_is_as_the_gem_writes_it) {
  Caller caller(beside());
  caller.acquire("k", "ann", 1min);
  const std::string count = mongo(R"({"aggregate": "locks", "cursor": {}, "pipeline": [
      {"$match": {"key": "k", "owner": "ann", "$expr": {"$and": [{"$eq": ["$ttl", "$expires_at"]}, {"$gt": ["$ttl", "$$NOW"]}]}}},
      {"$count": "n"}]})");
  EXPECT_TRUE(mentions(count, "\"n\" : 1")) << count;
  caller.renew("k", "ann", no_token, 1h);
  const std::string later = mongo(R"({"aggregate": "locks", "cursor": {}, "pipeline": [
      {"$match": {"$expr": {"$and": [{"$eq": ["$ttl", "$expires_at"]},
                                     {"$gt": ["$ttl", {"$add": ["$$NOW", 3000000]}]}]}}}, {"$count": "n"}]})");
  EXPECT_TRUE(mentions(later, "\"n\" : 1")) << later;
}

TEST_F(MongoLock, a_lease_that_ruby_made_its_own_is_lost_with_the_next_renewal) {
  Caller caller(beside());
  const Reply mine = caller.acquire("k", "ann");
  ruby_.extend_by("k", 30s);
  const Reply reply = caller.renew("k", "ann", mine.token);
  EXPECT_EQ(reply.verdict, Verdict::lost);
  EXPECT_TRUE(mentions(ruby_.all("k"), "web1:123:456")) << "left to Ruby";
  EXPECT_EQ(caller.acquire("k", "ann").verdict, Verdict::busy);
  EXPECT_EQ(caller.acquire("k", "bob").owner, "web1:123:456");
}

TEST_F(MongoLock, release_all_from_ruby_deletes_our_lease_and_renewal_and_release_report_it) {
  Caller caller(beside());
  const Reply one = caller.acquire("one", "ann"), two = caller.acquire("two", "ann");
  ruby_.release_all();
  EXPECT_EQ(caller.renew("one", "ann", one.token).verdict, Verdict::lost);
  EXPECT_EQ(caller.release("two", "ann", two.token).verdict, Verdict::lost);
  EXPECT_GT(caller.acquire("one", "bob").token, one.token);
  EXPECT_GT(caller.acquire("two", "bob").token, two.token);
}

// The gem leaves what has expired, and adds a second document; so no index may be unique.
TEST_F(MongoLock, an_expired_lock_blocks_nobody) {
  Caller caller(beside());
  ruby_.insert("k", -5s);
  const Reply mine = caller.acquire("k", "ann", 2ms);
  EXPECT_EQ(mine.verdict, Verdict::granted);
  let_pass(5ms);
  EXPECT_TRUE(ruby_.acquire("k"));
  EXPECT_TRUE(mentions(ruby_.all("k"), "\"owner\" : \"ann\"")) << "ours is left as the gem leaves its own";
  EXPECT_EQ(caller.acquire("k", "bob").owner, "web1:123:456");
}

// Ruby's clock may be behind the server's: a document that has just expired still counts.
TEST_F(MongoLock, a_document_of_rubys_counts_a_second_longer) {
  Caller caller(beside());
  // The second may pass before we ask, on a busy machine: once we are quick enough.
  Reply reply;
  EXPECT_TRUE(await([&] {
    caller.release("k", "ann");
    ruby_.release("k");
    ruby_.insert("k", -100ms);
    reply = caller.acquire("k", "ann");
    return reply.verdict == Verdict::busy;
  }));
  EXPECT_LE(reply.remaining, 1s);
  EXPECT_TRUE(await([&] { return caller.acquire("k", "ann").verdict == Verdict::granted; }));
}

TEST_F(MongoLock, a_document_of_rubys_after_its_end_is_held_for_readers_as_long_as_for_acquires) {
  Caller caller(beside());
  const auto left = [&](const Query& query) {
    const auto rows = caller.list(query).leases;
    return rows.empty() ? 0ms : rows.front().remaining;
  };
  const Query show{.prefix = "k", .exact = true}, ls{.free = false};
  Reply busy;
  Millis before{}, after{};
  // The second may pass before all are asked, on a busy machine: once we are quick enough.
  EXPECT_TRUE(await([&] {
    caller.release("k", "ann");
    ruby_.release("k");
    other_ruby_.release("k");
    other_ruby_.insert("k", -500ms);  // one that ends earlier is not told
    ruby_.insert("k", -100ms);
    before = left(show);
    busy = caller.acquire("k", "ann");
    after = left(ls);
    return busy.verdict == Verdict::busy && after > 0ms;
  }));
  EXPECT_EQ(busy.owner, "web1:123:456");
  EXPECT_GE(before, busy.remaining) << "the same end is told to all";
  EXPECT_GE(busy.remaining, after);
  EXPECT_TRUE(await([&] { return caller.acquire("k", "ann").verdict == Verdict::granted; }));
  ruby_.insert("other", -2s);
  EXPECT_EQ(left({.prefix = "other", .exact = true}), 0ms);
}

// Ruby asks for a time above its own, and finds no document with anything else there.
TEST_F(MongoLock, a_document_whose_end_is_no_time_holds_up_nobody) {
  Caller caller(beside());
  for (const char* end : {R"("soon")", "7", R"({"$timestamp": {"t": 2000000000, "i": 1}})"}) {
    mongo(R"({"insert": "locks", "documents": [{"key": "k", "owner": "odd", "expires_at": )" +
          std::string(end) + "}]}");
    EXPECT_TRUE(ruby_.available("k"));
    const auto mine = caller.try_acquire("k");
    ASSERT_TRUE(mine) << end << ": " << mine.error().detail;
    EXPECT_EQ(mine->verdict, Verdict::granted) << end;
    caller.acquire("other", "ann");
    EXPECT_EQ(caller.list({}).leases.size(), 2u) << end;
    caller.release("k", "ann");
  }
}

// Its time may end between our search for it and our own step.
TEST_F(MongoLock, a_client_that_got_busy_does_not_hold_the_key_when_rubys_time_ends) {
  Caller caller(beside());
  for (int i = 0; i < 100; ++i) {
    const std::string key = "key " + std::to_string(i);
    ruby_.insert(key, -1s + 5ms);
    while (caller.acquire(key, "ann").verdict != Verdict::granted) {
      const std::string ours = mongo(R"({"find": "locks.holdfast", "filter": {"_id": ")" + key + "\"}}");
      ASSERT_FALSE(mentions(ours, "\"owner\" : \"ann\"")) << ours;
    }
    EXPECT_FALSE(other_ruby_.acquire(key));
  }
}

TEST_F(MongoLock, our_own_that_has_expired_does_not_count_a_second_longer) {
  Caller ann(beside()), bob(beside()), cat(beside());
  ann.acquire("k", "ann", 2ms);
  let_pass(5ms);
  EXPECT_EQ(bob.acquire("k", "bob").verdict, Verdict::granted);
  bob.release("k", "bob");
  EXPECT_EQ(cat.acquire("k", "cat").verdict, Verdict::granted);
}

TEST_F(MongoLock, a_waiter_for_rubys_lock_keeps_its_place_in_the_queue) {
  Caller bob(beside()), cat(beside());
  ASSERT_TRUE(ruby_.acquire("k"));
  EXPECT_EQ(bob.acquire("k", "bob", 1h, 1h).ahead, 0u);
  EXPECT_EQ(cat.acquire("k", "cat", 1h, 1h).ahead, 1u);
  ruby_.release("k");
  EXPECT_EQ(cat.acquire("k", "cat", 1h, 1h).verdict, Verdict::busy);
  EXPECT_EQ(bob.acquire("k", "bob", 1h, 1h).verdict, Verdict::granted);
}

// No unique index: both may insert.  Whatever happens, we do not believe in a lease beside a document of
// Ruby's document that we found.
TEST_F(MongoLock, a_ruby_that_inserts_at_the_same_moment_makes_us_step_back) {
  Caller caller(beside());
  std::atomic<int> both = 0, ours = 0;
  for (int i = 0; i < 100; ++i) {
    const std::string key = "key " + std::to_string(i);
    std::atomic<bool> rubys = false;
    std::jthread other([&] { rubys = ruby_.acquire(key); });
    const Reply reply = caller.acquire(key, "ann");
    other.join();
    if (reply.verdict == Verdict::granted) ++ours;
    if (reply.verdict == Verdict::granted && rubys) ++both;
    // A refused acquire has left nothing behind.
    if (reply.verdict != Verdict::granted) {
      EXPECT_FALSE(mentions(ruby_.all(key), "\"owner\" : \"ann\""));
    }
  }
  RecordProperty("both", both);
  EXPECT_LE(both, 2) << "only an insert that lands after our second look";
}

// It was released among us, and then the connection broke.
TEST_F(MongoLock, a_release_that_is_asked_again_frees_the_key_for_ruby) {
  Caller caller(beside());
  const Reply mine = caller.acquire("k", "ann", never);
  mongo(R"({"update": "locks.holdfast", "updates": [
      {"q": {"_id": "k"}, "u": [{"$set": {"owner": "", "expires_at": "$$NOW"}}]}]})");
  EXPECT_FALSE(ruby_.available("k"));
  EXPECT_EQ(caller.release("k", "ann", mine.token).verdict, Verdict::lost);
  EXPECT_TRUE(ruby_.acquire("k"));
  EXPECT_EQ(caller.release("k", "ann", mine.token).verdict, Verdict::lost);
  EXPECT_FALSE(ruby_.available("k") && other_ruby_.available("k")) << "Ruby's own stays";
}

TEST_F(MongoLock, an_old_release_leaves_what_the_same_holder_has_now) {
  Caller caller(beside());
  const Reply first = caller.acquire("k", "ann");
  caller.release("k", "ann", first.token);
  caller.acquire("k", "ann");
  EXPECT_EQ(caller.release("k", "ann", first.token).verdict, Verdict::lost);
  EXPECT_FALSE(ruby_.acquire("k"));
}

// A renewal that lay in a frozen server comes after the one that was sent later.
TEST_F(MongoLock, no_late_renewal_shortens_what_ruby_sees) {
  Caller caller(beside());
  const Reply mine = caller.acquire("k", "ann", 1h);
  mongo(R"({"update": "locks", "updates": [{"q": {"key": "k"}, "u": [
      {"$set": {"expires_at": {"$add": ["$$NOW", 36000000]}, "ttl": {"$add": ["$$NOW", 36000000]}}}]}]})");
  EXPECT_EQ(caller.renew("k", "ann", mine.token, 2h).verdict, Verdict::granted);
  const std::string count = mongo(R"({"aggregate": "locks", "cursor": {}, "pipeline": [
      {"$match": {"$expr": {"$and": [{"$eq": ["$ttl", "$expires_at"]},
                                     {"$gt": ["$ttl", {"$add": ["$$NOW", 30000000]}]}]}}}, {"$count": "n"}]})");
  EXPECT_TRUE(mentions(count, "\"n\" : 1")) << ruby_.all("k");
}

TEST_F(MongoLock, an_eviction_frees_the_key_for_ruby_too) {
  Caller caller(beside());
  const Reply mine = caller.acquire("k", "ann");
  EXPECT_EQ(caller.evict("k", mine.token, "why").verdict, Verdict::released);
  EXPECT_TRUE(ruby_.acquire("k"));
}

TEST_F(MongoLock, a_lease_without_end_is_one_of_thousands_of_years_to_ruby) {
  Caller caller(beside());
  EXPECT_EQ(caller.acquire("k", "ann", never).remaining, never);
  EXPECT_FALSE(ruby_.acquire("k"));
  EXPECT_EQ(caller.release("k", "ann").verdict, Verdict::released);
}

TEST_F(MongoLock, rubys_locks_are_listed_without_a_token) {
  Caller caller(beside());
  caller.acquire("b", "ann");
  ASSERT_TRUE(ruby_.acquire("a"));
  ASSERT_TRUE(ruby_.acquire("c"));
  ruby_.insert("expired", -10s);
  const auto rows = caller.list({}).leases;
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(rows[0].key, "a");
  EXPECT_EQ(rows[0].owner, "web1:123:456");
  EXPECT_EQ(rows[0].token, no_token);
  EXPECT_EQ(rows[1].owner, "ann");
  EXPECT_NE(rows[1].token, no_token);
  EXPECT_EQ(caller.list({.prefix = "c", .exact = true}).leases.size(), 1u);
  EXPECT_EQ(caller.list({.after = "a", .limit = 1}).leases.at(0).key, "b");
}

TEST_F(MongoLock, init_makes_the_indexes_as_ensure_indexes_did) {
  const auto admin = try_store(beside()).value()->admin();
  const auto planned = admin->plan(soon()).value();
  ASSERT_EQ(planned.size(), 3u) << "and those of our own documents";
  EXPECT_EQ(admin->init(soon()).value(), planned);
  EXPECT_TRUE(admin->plan(soon()).value().empty());
  const std::string indexes = mongo(R"({"listIndexes": "locks"})");
  EXPECT_TRUE(mentions(indexes, "\"key_1_owner_1_expires_at_1\"")) << indexes;
  EXPECT_TRUE(mentions(indexes, "\"ttl_1\", \"expireAfterSeconds\" : 0")) << indexes;
  EXPECT_FALSE(mentions(indexes, "unique")) << indexes;
  Caller caller(beside());
  EXPECT_EQ(caller.acquire("k", "ann").verdict, Verdict::granted) << "a TTL index there is as it should be";
}

TEST_F(MongoLock, a_purge_clears_what_has_expired) {
  Caller caller(beside());
  ruby_.insert("old", -30s);
  ASSERT_TRUE(ruby_.acquire("new"));
  caller.store().admin()->purge({.free_for = 10s}, soon()).value();
  EXPECT_FALSE(mentions(ruby_.all("old"), "owner"));
  EXPECT_TRUE(mentions(ruby_.all("new"), "owner"));
}

// As the gem's clean_expired does.
TEST_F(MongoLock, a_purge_of_all_that_is_free_takes_what_expired_just_now) {
  ruby_.insert("old", -1ms);
  ASSERT_TRUE(ruby_.acquire("new"));
  Client client = open(beside());
  Admin(client).purge({.free_for = 0s});
  EXPECT_FALSE(mentions(ruby_.all("old"), "owner"));
  EXPECT_TRUE(mentions(ruby_.all("new"), "owner"));
}

TEST_F(MongoLock, examine_says_what_this_layout_cannot_promise) {
  Caller caller(beside());
  const Traits traits = caller.examine();
  EXPECT_EQ(traits.grade, Grade::C);
  EXPECT_TRUE(mentions(found(traits).front() + found(traits).back(), "mongo-lock"));
}

}  // namespace
}  // namespace holdfast::test
