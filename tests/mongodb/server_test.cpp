// SPDX-License-Identifier: Apache-2.0
// What a server and a collection have to be like, and what examine() finds.
#include "core/table_version.h"
#include "tests/mongodb/suite.h"
#include "tests/support/findings.h"
#include "tests/support/together.h"

namespace holdfast::test {
namespace {

class ServerOfMongo : public MongoTest {
 protected:
  Error refusal(const std::string& parameters = "collection=locks") {
    const Status status = try_connect(with(url(), parameters));
    return status ? Error{Errc::invalid, "it was not refused"} : status.error();
  }
};

TEST_F(ServerOfMongo, nothing_has_to_be_made_but_indexes) {
  const auto store = try_store(url()).value();
  const auto plan = store->admin()->plan(soon()).value();
  ASSERT_EQ(plan.size(), 2u);
  EXPECT_TRUE(mentions(plan[0], R"("createIndexes": "locks", )")) << plan[0];
  EXPECT_TRUE(mentions(plan[1], R"("createIndexes": "locks.holdfast_jobs")")) << plan[1];
  EXPECT_FALSE(mentions(mongo(R"({"listCollections": 1})"), "locks")) << "a plan makes nothing";
  Caller caller(url());
  EXPECT_EQ(caller.acquire("k", "ann").verdict, Verdict::granted);
}

TEST_F(ServerOfMongo, a_collection_that_lets_documents_vanish_is_refused) {
  mongo(R"({"createIndexes": "locks", "indexes":
            [{"key": {"expires_at": 1}, "name": "tidy", "expireAfterSeconds": 0}]})");
  const Error error = refusal();
  EXPECT_EQ(error.code, Errc::refused);
  EXPECT_TRUE(mentions(error.detail, "the index tidy")) << error.detail;
  Caller caller(with(url(), "unsafe=allow"));
  EXPECT_EQ(caller.examine().grade, Grade::D);
  EXPECT_TRUE(told(caller.examine()).empty());
}

TEST_F(ServerOfMongo, a_collation_that_makes_two_keys_one_is_refused) {
  mongo(R"({"create": "locks", "collation": {"locale": "en", "strength": 1}})");
  const Error error = refusal();
  EXPECT_EQ(error.code, Errc::refused);
  EXPECT_TRUE(mentions(error.detail, "collation (en)")) << error.detail;
}

TEST_F(ServerOfMongo, documents_of_a_newer_holdfast_are_refused) {
  const auto write_version = [&](std::int64_t needs) {
    mongo(R"({"update": "locks.holdfast_log", "updates": [{"q": {"_id": "version"}, "upsert": true,
              "u": {"$set": {"needs": )" +
          std::to_string(needs) + "}}}]}");
  };
  write_version(core::table_version);
  EXPECT_EQ(Caller(url()).acquire("k", "ann").verdict, Verdict::granted);
  write_version(core::table_version + 1);
  const Error error = refusal();
  EXPECT_EQ(error.code, Errc::refused);
  EXPECT_TRUE(mentions(error.detail, "\"locks\" was written by a newer Holdfast")) << error.detail;
  EXPECT_EQ(try_store(url()).value()->jobs(soon()).error().code, Errc::refused);
}

TEST_F(ServerOfMongo, so_are_a_capped_collection_and_a_view) {
  mongo(R"({"create": "locks", "capped": true, "size": 100000})");
  EXPECT_EQ(refusal().code, Errc::refused);
  EXPECT_TRUE(mentions(refusal().detail, "capped"));
  mongo(R"({"create": "seen", "viewOn": "locks", "pipeline": []})");
  EXPECT_EQ(refusal("collection=seen").code, Errc::refused);
  EXPECT_TRUE(mentions(refusal("collection=seen").detail, "is a view"));
}

TEST_F(ServerOfMongo, a_validator_that_does_not_take_our_documents_is_named) {
  mongo(R"({"create": "locks", "validator": {"price": {"$type": "int"}}})");
  Caller caller(url());
  const auto reply = caller.try_acquire("k");
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error().code, Errc::refused);
  EXPECT_TRUE(mentions(reply.error().detail, "validator")) << reply.error().detail;
}

TEST_F(ServerOfMongo, a_document_that_a_validator_does_not_take_harms_no_other_of_its_batch) {
  mongo(R"({"create": "locks", "validator": {"_id": {"$ne": "b"}}})");
  Caller caller(url());
  std::vector<Request> requests;
  for (const char* key : {"a", "b", "b", "c"})
    requests.push_back({.verb = Verb::acquire, .key = {key}, .owner = {"ann"}, .ttl = 1h});
  const auto told = ask_together(caller.connection(), requests);
  for (const std::size_t bad : {1u, 2u}) {
    ASSERT_FALSE(told[bad]);
    EXPECT_EQ(told[bad].error().code, Errc::refused) << told[bad].error().detail;
    EXPECT_TRUE(mentions(told[bad].error().detail, "validator")) << told[bad].error().detail;
  }
  for (const std::size_t good : {0u, 3u}) {
    ASSERT_TRUE(told[good]) << told[good].error().detail;
    EXPECT_EQ(told[good]->verdict, Verdict::granted);
  }
  EXPECT_EQ(caller.acquire("a", "bob").owner, "ann");
  EXPECT_EQ(caller.acquire("c", "bob").owner, "ann");
  EXPECT_EQ(caller.try_acquire("b").error().code, Errc::refused) << "alone nothing has happened";
}

// Somebody has changed a document by hand, so that the server cannot reckon with it.
TEST_F(ServerOfMongo, a_damaged_document_harms_no_other_of_its_batch) {
  const std::string past = R"({"$date": {"$numberLong": "1000"}})";
  const std::string later = R"({"$date": {"$numberLong": "4000000000000"}})";
  const std::string stamp = R"({"$timestamp": {"t": 4000000000, "i": 1}})";  // sorts behind all dates
  struct Damage {
    Verb verb;
    std::string fields;
    bool extend = false;  // or renewals travel together
  };
  const std::vector<Damage> damages = {
      {Verb::acquire, R"("queue": "nobody")"},
      {Verb::acquire, R"("token": "many", "owner": "")"},
      {Verb::acquire, R"("token": 7, "owner": "bob", "log": "none", "expires_at": )" + past},
      {Verb::renew, R"("queue": {"client": "c"}, "token": 7, "owner": "ann")"},
      {Verb::renew, R"("queue": {"client": "c"}, "token": 7, "owner": "ann")", true},
      {Verb::renew, R"("token": 7, "owner": "ann", "expires_at": )" + stamp, true},
      {Verb::release, R"("queue": 7, "token": 7, "owner": "ann")"},
      {Verb::release, R"("freed": "no", "token": 7, "owner": "ann", "expires_at": )" + later},
      {Verb::release, R"("token": 7, "owner": "ann", "expires_at": )" + later +
                          R"(, "queue": [{"client": 7, "until": )" + later + "}]"},
      {Verb::evict, R"("log": 7, "token": 7, "owner": "ann", "expires_at": )" + later},
  };
  for (const Damage& damage : damages) {
    mongo(R"({"delete": "locks", "deletes": [{"q": {}, "limit": 0}]})");
    Caller caller(url());
    std::vector<Request> requests;
    for (const char* key : {"a", "b", "c"})
      requests.push_back({.verb = damage.verb,
                          .key = {key},
                          .owner = {"ann"},
                          .token = Token{7},
                          .ttl = 1h,
                          .extend = damage.extend});
    for (const std::size_t good : {0u, 2u}) {
      if (damage.verb == Verb::acquire) continue;
      requests[good].token = caller.acquire(requests[good].key.text, "ann").token;
    }
    mongo(R"({"insert": "locks", "documents": [{"_id": "b", )" + damage.fields + "}]}");
    std::vector<Reply> replies(requests.size());
    const Status status = caller.connection().apply(requests, replies, soon());
    ASSERT_TRUE(status) << damage.fields << ": " << status.error().detail;
    const bool frees = damage.verb == Verb::release || damage.verb == Verb::evict;
    for (const std::size_t good : {0u, 2u}) {
      EXPECT_FALSE(replies[good].error) << damage.fields;
      EXPECT_EQ(replies[good].verdict, frees ? Verdict::released : Verdict::granted) << damage.fields;
    }
    ASSERT_TRUE(replies[1].error) << damage.fields;
    EXPECT_EQ(replies[1].error->code, Errc::refused) << replies[1].error->detail;
    EXPECT_TRUE(mentions(replies[1].error->detail, "repair it")) << replies[1].error->detail;
    const auto alone = caller.try_ask(requests[1]);
    // A release alone leaves no mark that it could fail at.
    if (mentions(damage.fields, "freed")) continue;
    ASSERT_FALSE(alone) << damage.fields;
    EXPECT_EQ(alone.error().code, Errc::refused) << alone.error().detail;
  }
}

TEST_F(ServerOfMongo, a_damaged_document_harms_no_listing_and_no_purge) {
  Caller caller(url());
  const Reply mine = caller.acquire("a", "ann");
  caller.evict("a", mine.token, "why");
  mongo(R"({"insert": "locks", "documents": [
      {"_id": "b", "queue": {"until": {"$date": {"$numberLong": "1000"}}}, "log": ["no row", {"at": 7}]},
      {"_id": "c", "log": {"0": 1, "at": {"$date": {"$numberLong": "1000"}}}}]})");
  EXPECT_EQ(caller.list({}).leases.size(), 1u);
  EXPECT_FALSE(caller.list({.what = Query::What::log}).log.empty());
  const auto purged = caller.store().admin()->purge({.free_for = 0ms, .log_older_than = 0ms}, soon());
  ASSERT_TRUE(purged) << purged.error().detail;
}

// Each time it answers that somebody else has just inserted the same document.
TEST_F(ServerOfMongo, a_collision_that_does_not_end_ends_with_the_time_of_the_call) {
  mongo(R"({"createIndexes": "locks", "indexes": [{"key": {"owner": 1}, "name": "one", "unique": true}]})");
  Caller caller(url());
  caller.acquire("k", "ann");
  // Over while it is asked, or between two askings: some of either.
  for (int i = 0; i < 100; ++i) {
    const auto reply = caller.try_acquire("l", "ann", BootClock::now() + 10ms);
    ASSERT_FALSE(reply);
    EXPECT_TRUE(reply.error().retryable()) << reply.error().detail;
  }
  EXPECT_EQ(caller.acquire("k", "bob").owner, "ann") << "it answers again";
}

TEST_F(ServerOfMongo, a_standalone_server_is_reported_and_has_no_listener) {
  Caller caller(url());
  const Traits traits = caller.examine();
  EXPECT_EQ(traits.name, "mongodb");
  EXPECT_EQ(traits.resolution, 1ms);
  if (traits.push) return;  // a replica set: listener_test.cpp
  EXPECT_EQ(traits.grade, Grade::C);
  ASSERT_EQ(found(traits).size(), 1u);
  EXPECT_TRUE(mentions(found(traits)[0], "not in a replica set"));
  EXPECT_TRUE(told(traits).empty());
}

}  // namespace
}  // namespace holdfast::test
