// SPDX-License-Identifier: Apache-2.0
// What a listing reads where many keys are known and few are held.
#include "tests/mongodb/suite.h"

namespace holdfast::test {
namespace {

// A server of its own: it counts the documents that its commands read.
class ListingOfMongo : public OwnMongoTest {
 protected:
  double documents_read() const { return status_of(*server_, "queryExecutor", "scannedObjects"); }
  std::string indexes() const { return server_->command("app", R"({"listIndexes": "locks"})"); }
  // That key so many times more, with other names.
  void copy(const std::string& key, int count) {
    server_->command("app", R"({"aggregate": "locks", "cursor": {}, "pipeline": [
        {"$match": {"_id": ")" + key +
                                R"("}}, {"$set": {"n": {"$range": [0, )" + std::to_string(count) +
                                R"(]}}}, {"$unwind": "$n"}, {"$set": {"_id": {"$concat":
        ["free-", {"$toString": "$n"}]}}}, {"$unset": "n"}, {"$merge": {"into": "locks"}}]})");
  }
};

TEST_F(ListingOfMongo, reads_what_is_held_and_waited_for_and_not_the_keys_that_are_free) {
  Caller ann(url()), bob(url());
  ann.acquire("seed", "ann");
  ann.release("seed", "ann");
  copy("seed", 5'000);
  ann.acquire("a", "ann");
  bob.acquire("a", "bob", 1h, 1h);
  ann.acquire("free-z", "ann");
  bob.acquire("free-z", "bob", 1h, 1h);
  ann.release("free-z", "ann");  // waited for, and held by nobody
  const Reply broken = ann.acquire("z", "ann");
  ann.evict("z", broken.token, "why");
  ann.acquire("z", "ann");
  const auto cost = [&](const Query& query, std::size_t rows) {
    const double before = documents_read();
    const Page page = ann.list(query);
    EXPECT_EQ(page.leases.size() + page.places.size() + page.log.size(), rows);
    return documents_read() - before;
  };
  EXPECT_LT(cost({.free = false}, 3), 100);
  EXPECT_LT(cost({.prefix = "free", .free = false}, 1), 100);
  EXPECT_LT(cost({.after = "a", .free = false, .limit = 1}, 1), 100);
  EXPECT_LT(cost({.what = Query::What::places}, 2), 100);
  EXPECT_LT(cost({.what = Query::What::log}, 1), 100);
  EXPECT_LT(cost({.limit = 10}, 10), 100) << "a page of all reads that page";
}

// Where a purge or a release has left no key that is held, each index is empty.
TEST_F(ListingOfMongo, finds_nothing_among_free_keys) {
  Caller ann(url());
  ann.acquire("seed", "ann");
  ann.release("seed", "ann");
  copy("seed", 5'000);
  const double before = documents_read();
  EXPECT_TRUE(ann.list({.free = false}).leases.empty());
  EXPECT_LT(documents_read() - before, 100);
}

// Among many keys that takes long, so it is not done to whoever happens to acquire one.
TEST_F(ListingOfMongo, a_collection_that_is_there_gets_its_indexes_from_init) {
  server_->command("app", R"({"create": "locks"})");
  Caller ann(url());
  ann.acquire("k", "ann");
  EXPECT_FALSE(mentions(indexes(), "held")) << indexes();
  EXPECT_EQ(ann.list({.free = false}).leases.size(), 1u) << "without them it finds the same";
  const auto admin = ann.store().admin();
  const auto plan = admin->plan(soon()).value();
  EXPECT_EQ(admin->init(soon()).value(), plan);
  EXPECT_TRUE(admin->plan(soon()).value().empty());
  for (const char* name : {"held", "waited_for", "logged"})
    EXPECT_TRUE(mentions(indexes(), "\"" + std::string(name) + "\"")) << indexes();
  EXPECT_EQ(ann.list({.free = false}).leases.size(), 1u);
}

}  // namespace
}  // namespace holdfast::test
