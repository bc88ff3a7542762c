// SPDX-License-Identifier: Apache-2.0
// What a server and a collection have to be like, and what examine() finds.
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

TEST_F(ServerOfMongo, nothing_has_to_be_made_but_the_indexes_of_jobs) {
  const auto store = try_store(url()).value();
  const auto plan = store->admin()->plan(soon()).value();
  ASSERT_EQ(plan.size(), 1u);
  EXPECT_TRUE(mentions(plan[0], R"("createIndexes": "locks.holdfast_jobs")")) << plan[0];
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
