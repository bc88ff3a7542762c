// SPDX-License-Identifier: Apache-2.0
// Names that mean something to MongoDB are names here, in a verb of its own and in a batch.
#include <map>

#include "tests/mongodb/suite.h"

namespace holdfast::test {
namespace {

class ValuesOfMongo : public MongoTest {};

const std::vector<std::string>& odd_names() {
  static const std::vector<std::string> names = {
      "$token",  "$$NOW",  "$$ROOT", "$",    "$$",           "{\"$gt\": \"\"}", "{ $ne: null }", "a.b",
      "$.owner", "$where", "null",   "true", "[\"$owner\"]", "$literal",        "_id",           "hf.what"};
  return names;
}

TEST_F(ValuesOfMongo, a_key_a_holder_and_a_note_are_only_ever_texts) {
  Caller caller(url());
  for (const std::string& name : odd_names()) {
    const Reply mine =
        caller.ask({.verb = Verb::acquire, .key = {name}, .owner = {name}, .ttl = 1h, .note = name});
    EXPECT_EQ(mine.verdict, Verdict::granted) << name;
    EXPECT_EQ(mine.owner, name);
    EXPECT_EQ(caller.acquire(name, "somebody else").owner, name);
    EXPECT_EQ(caller.renew(name, name, mine.token).verdict, Verdict::granted) << name;
    EXPECT_EQ(caller.renew(name, "$owner").verdict, Verdict::lost) << name;
    EXPECT_EQ(caller.release(name, "$owner").verdict, Verdict::lost) << name;
  }
  const auto rows = caller.list({}).leases;
  ASSERT_EQ(rows.size(), odd_names().size());
  for (const LeaseRow& row : rows) {
    EXPECT_EQ(row.owner, row.key);
    EXPECT_EQ(row.note, row.key);
    EXPECT_EQ(caller.list({.prefix = row.key, .exact = true}).leases.size(), 1u) << row.key;
    EXPECT_EQ(caller.evict(row.key, row.token, row.key).verdict, Verdict::released);
  }
  for (const LogRow& row : caller.list({.what = Query::What::log}).log) EXPECT_EQ(row.reason, row.key);
}

TEST_F(ValuesOfMongo, so_are_they_in_a_batch) {
  Caller caller(url()), other(url());
  std::vector<Request> acquires, waits, renewals, foreign, releases;
  for (const std::string& name : odd_names()) {
    acquires.push_back({.verb = Verb::acquire, .key = {name}, .owner = {name}, .ttl = 1h, .note = name});
    waits.push_back({.verb = Verb::acquire, .key = {name}, .owner = {"$owner"}, .ttl = 1h, .place = 1h});
    renewals.push_back({.verb = Verb::renew, .key = {name}, .owner = {name}, .ttl = 1h});
    foreign.push_back({.verb = Verb::release, .key = {name}, .owner = {"$owner"}});
    releases.push_back({.verb = Verb::release, .key = {name}, .owner = {name}});
  }
  const auto all = [&](Caller& who, const std::vector<Request>& requests, Verdict verdict) {
    for (const Reply& reply : who.ask_all(requests)) EXPECT_EQ(reply.verdict, verdict) << reply.owner;
  };
  all(caller, acquires, Verdict::granted);
  all(other, waits, Verdict::busy);
  all(caller, renewals, Verdict::granted);
  all(caller, foreign, Verdict::lost);
  for (const LeaseRow& row : caller.list({}).leases) EXPECT_EQ(row.note, row.key);
  for (const PlaceRow& row : caller.list({.what = Query::What::places}).places)
    EXPECT_EQ(row.owner, "$owner");
  all(caller, releases, Verdict::released);
  all(caller, releases, Verdict::lost);
}

// Everything of one key in one batch: each sees what the one before it did.
TEST_F(ValuesOfMongo, a_key_that_comes_often_in_a_batch_is_answered_in_order) {
  Caller caller(url());
  std::vector<Request> requests;
  for (int i = 0; i < 5; ++i) {
    for (const char* key : {"x", "y"}) {
      requests.push_back({.verb = Verb::acquire, .key = {key}, .owner = {"ann"}, .ttl = 1h});
      requests.push_back({.verb = Verb::acquire, .key = {key}, .owner = {"bob"}, .ttl = 1h});
      requests.push_back({.verb = Verb::release, .key = {key}, .owner = {"ann"}});
      requests.push_back({.verb = Verb::release, .key = {key}, .owner = {"ann"}});
    }
  }
  const auto replies = caller.ask_all(requests);
  std::map<std::string_view, Token> last;
  for (std::size_t i = 0; i < replies.size(); i += 4) {
    EXPECT_EQ(replies[i].verdict, Verdict::granted);
    EXPECT_EQ(replies[i + 1].verdict, Verdict::busy);
    EXPECT_EQ(replies[i + 2].verdict, Verdict::released);
    EXPECT_EQ(replies[i + 3].verdict, Verdict::lost);
    EXPECT_GT(replies[i].token, last[requests[i].key.text]);
    last[requests[i].key.text] = replies[i].token;
  }
}

// One round trip to write and one to read, whatever the size.
TEST_F(ValuesOfMongo, a_batch_of_many_keys_is_two_commands_and_one_key_is_one) {
  MongoServer alone;  // nobody else asks it
  Caller caller(alone.url());
  caller.acquire("first", "ann");  // makes the collection
  const auto asked = [&] {
    return std::pair(status_of(alone, "opcounters", "command"), status_of(alone, "opcounters", "query"));
  };
  std::vector<std::string> names;
  for (int i = 0; i < 200; ++i) names.push_back("key " + std::to_string(i));
  std::vector<Request> requests;
  for (const std::string& name : names)
    requests.push_back({.verb = Verb::acquire, .key = {name}, .owner = {"ann"}, .ttl = 1h});
  const auto before = asked();
  for (const Reply& reply : caller.ask_all(requests)) EXPECT_EQ(reply.verdict, Verdict::granted);
  const auto between = asked();
  caller.release("key 7", "ann");
  const auto after = asked();
  EXPECT_EQ(between.second - before.second, 1) << "one find";
  // What counting itself costs is in both.
  EXPECT_EQ((after.first - between.first) - (between.first - before.first), 1) << "one findAndModify";
}

// More than one command takes, and more than one page of a purge.
TEST_F(ValuesOfMongo, a_batch_of_a_thousand_keys_is_answered_and_purged_wholly) {
  Caller caller(url());
  std::vector<std::string> names;
  for (int i = 0; i < 1'001; ++i) names.push_back("key " + std::to_string(i));
  std::vector<Request> acquires, releases;
  for (const std::string& name : names) {
    acquires.push_back({.verb = Verb::acquire, .key = {name}, .owner = {name}, .ttl = 1h});
    releases.push_back({.verb = Verb::release, .key = {name}, .owner = {name}});
  }
  const auto replies = caller.ask_all(acquires);
  for (std::size_t i = 0; i < names.size(); ++i) {
    EXPECT_EQ(replies[i].verdict, Verdict::granted) << names[i];
    EXPECT_EQ(replies[i].owner, names[i]);
  }
  for (const Reply& reply : caller.ask_all(releases)) EXPECT_EQ(reply.verdict, Verdict::released);
  let_pass(5ms);  // behind their tokens
  EXPECT_EQ(caller.store().admin()->purge({.free_for = 0ms}, soon()).value().keys, names.size());
}

// An answer holds 16 MB.  What did not fit is not lost.
TEST_F(ValuesOfMongo, a_batch_whose_answer_is_cut_is_answered_wholly) {
  Caller caller(url());
  std::vector<Request> acquires, renewals, releases;
  for (const char* key : {"a", "b", "c"}) {
    acquires.push_back({.verb = Verb::acquire, .key = {key}, .owner = {"ann"}, .ttl = 1h});
    renewals.push_back({.verb = Verb::renew, .key = {key}, .owner = {"ann"}, .ttl = 1h});
    releases.push_back({.verb = Verb::release, .key = {key}, .owner = {"ann"}});
  }
  caller.ask_all(acquires);
  mongo(R"({"update": "locks", "updates": [{"q": {}, "multi": true, "u": {"$set": {"note": ")" +
        std::string(7 << 20, 'x') + "\"}}}]}");
  for (const Reply& reply : caller.ask_all(renewals)) EXPECT_EQ(reply.verdict, Verdict::granted);
  for (const Reply& reply : caller.ask_all(releases)) EXPECT_EQ(reply.verdict, Verdict::released);
  for (const Reply& reply : caller.ask_all(releases)) EXPECT_EQ(reply.verdict, Verdict::lost);
}

TEST_F(ValuesOfMongo, what_changes_nothing_writes_nothing) {
  MongoServer alone;
  Caller ann(alone.url()), bob(alone.url());
  const auto journal = [&] { return status_of(alone, "wiredTiger", "log bytes written"); };
  ann.acquire("k", "ann");
  const double at_first = journal();
  bob.acquire("k", "bob", 1h, 1h);
  const double before = journal();
  EXPECT_GT(before, at_first) << "a place is written";
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(bob.acquire("k", "bob").verdict, Verdict::busy);
    EXPECT_EQ(bob.renew("k", "bob").verdict, Verdict::lost);
    EXPECT_EQ(bob.release("k", "bob").verdict, Verdict::lost);
  }
  // A checkpoint of the server's own may come in between; sixty writes of ours would be more than that.
  EXPECT_LT(journal() - before, 2'000);
}

}  // namespace
}  // namespace holdfast::test
