// SPDX-License-Identifier: Apache-2.0
// What `doctor` finds about a server and its collections.
#include "tests/mongodb/suite.h"
#include "tests/support/findings.h"
#include "tests/support/servers/port.h"
#include "tests/support/servers/relay.h"

namespace holdfast::test {
namespace {

Result<Diagnosis> try_diagnose(const std::string& url) {
  return try_store(url).value()->admin()->diagnose(soon());
}

class DiagnosisOfMongo : public MongoTest {
 protected:
  Diagnosis now(const std::string& parameters = "collection=locks") {
    return try_diagnose(with(url(), parameters)).value();
  }
};

TEST_F(DiagnosisOfMongo, says_what_the_server_is_and_makes_nothing) {
  const Diagnosis diagnosis = now();
  EXPECT_TRUE(diagnosis.server.starts_with("MongoDB ")) << diagnosis.server;
  EXPECT_TRUE(
      mentions(mongo(R"({"buildInfo": 1})"),
               "\"version\" : \"" + diagnosis.server.substr(8, diagnosis.server.find(',') - 8) + "\""))
      << diagnosis.server;
  EXPECT_FALSE(mentions(mongo(R"({"listCollections": 1})"), "locks"));
  EXPECT_FALSE(about(diagnosis, "mongodb.identity"));
  EXPECT_FALSE(about(diagnosis, "mongodb.rights"));
  EXPECT_FALSE(about(diagnosis, "mongodb.no-password"));
  EXPECT_FALSE(about(diagnosis, "mongodb.in-memory"));
}

TEST_F(DiagnosisOfMongo, a_standalone_server_is_a_warning_and_class_c_and_unknown_facts_are_notes) {
  const Diagnosis diagnosis = now();
  if (!mentions(diagnosis.server, "standalone")) return;  // a replica set: findings_test.cpp
  EXPECT_TRUE(has(diagnosis, "mongodb.standalone", Severity::warning));
  EXPECT_EQ(diagnosis.grade, Grade::C);
  // The engine of the tests has no users; a server with users reports its rights.
  if (const Finding* unseen = about(diagnosis, "mongodb.unseen")) {
    EXPECT_EQ(unseen->severity, Severity::note);
    EXPECT_TRUE(mentions(unseen->what, "the user's rights")) << unseen->what;
  }
}

TEST_F(DiagnosisOfMongo, a_ttl_index_on_leases_is_a_danger_though_no_client_is_let_in) {
  mongo(R"({"createIndexes": "locks", "indexes":
            [{"key": {"expires_at": 1}, "name": "tidy", "expireAfterSeconds": 0}]})");
  ASSERT_FALSE(try_connect(url()));
  const Diagnosis diagnosis = now();
  EXPECT_TRUE(has(diagnosis, "mongodb.ttl-index", Severity::danger));
  EXPECT_EQ(diagnosis.grade, Grade::D);
}

TEST_F(DiagnosisOfMongo, one_on_what_lies_beside_them_is_a_danger_too) {
  for (const char* beside : {"locks.holdfast_log", "locks.holdfast_jobs", "locks.holdfast_ticks"}) {
    const std::string name(beside);
    mongo(R"({"createIndexes": ")" + name + R"(", "indexes":
              [{"key": {"at": 1}, "name": "tidy", "expireAfterSeconds": 60}]})");
    const Diagnosis diagnosis = now();
    ASSERT_TRUE(has(diagnosis, "mongodb.ttl-index", Severity::danger)) << name;
    EXPECT_TRUE(mentions(about(diagnosis, "mongodb.ttl-index")->what, name + ".tidy"));
    mongo(R"({"drop": ")" + name + R"("})");
  }
  EXPECT_FALSE(about(now(), "mongodb.ttl-index"));
}

TEST_F(DiagnosisOfMongo, collections_in_which_no_lease_can_lie_are_a_danger) {
  mongo(R"({"create": "spoken", "collation": {"locale": "en", "strength": 1}})");
  mongo(R"({"create": "round", "capped": true, "size": 100000})");
  mongo(R"({"create": "seen", "viewOn": "round", "pipeline": []})");
  for (const std::string collection : {"spoken", "round", "seen"}) {
    const Diagnosis diagnosis = now("collection=" + collection);
    EXPECT_TRUE(has(diagnosis, "mongodb.collection", Severity::danger)) << collection;
    EXPECT_EQ(diagnosis.grade, Grade::D) << collection;
  }
}

TEST_F(DiagnosisOfMongo, a_unique_index_is_warned_of_and_those_of_jobs_are_not) {
  ASSERT_TRUE(try_store(url()).value()->admin()->init(soon()));
  EXPECT_FALSE(about(now(), "mongodb.unique-index"));
  mongo(R"({"createIndexes": "locks", "indexes": [{"key": {"owner": 1}, "name": "one", "unique": true}]})");
  const Diagnosis diagnosis = now();
  ASSERT_TRUE(has(diagnosis, "mongodb.unique-index", Severity::warning));
  EXPECT_TRUE(mentions(about(diagnosis, "mongodb.unique-index")->what, "locks.one"));
  EXPECT_EQ(diagnosis.grade, Grade::C);
}

// The gem's own indexes, one of which lets documents vanish, are as they are meant.
TEST_F(DiagnosisOfMongo, beside_the_gem_it_is_c_for_that_reason_alone) {
  const std::string beside = "collection=locks&layout=mongo-lock";
  ASSERT_TRUE(try_store(with(url(), beside)).value()->admin()->init(soon()));
  const Diagnosis diagnosis = now(beside);
  EXPECT_TRUE(has(diagnosis, "mongodb.layout", Severity::warning));
  EXPECT_EQ(diagnosis.grade, Grade::C);
  EXPECT_FALSE(about(diagnosis, "mongodb.ttl-index"));
  EXPECT_FALSE(about(diagnosis, "mongodb.unique-index"));
  EXPECT_TRUE(try_connect(with(url(), beside)));
}

TEST_F(DiagnosisOfMongo, beside_shedlock_it_is_c_for_that_reason) {
  const std::string beside = "layout=shedlock";
  mongo(
      R"({"createIndexes": "shedLock", "indexes": [{"key": {"lockUntil": 1}, "name": "tidy", "expireAfterSeconds": 86400}]})");
  EXPECT_TRUE(has(now(beside), "mongodb.ttl-index", Severity::danger)) << "it would delete tokens";
  mongo(R"({"dropIndexes": "shedLock", "index": "tidy"})");
  const Diagnosis diagnosis = now(beside);
  ASSERT_TRUE(has(diagnosis, "mongodb.layout", Severity::warning));
  EXPECT_TRUE(mentions(about(diagnosis, "mongodb.layout")->what, "layout=shedlock"));
  EXPECT_EQ(diagnosis.grade, Grade::C);
}

TEST_F(DiagnosisOfMongo, what_would_break_the_gems_collection_is_found) {
  const std::string beside = "collection=gems&layout=mongo-lock";
  mongo(R"({"create": "gems", "collation": {"locale": "en", "strength": 1}})");
  mongo(R"({"createIndexes": "gems", "indexes": [{"key": {"key": 1}, "name": "one", "unique": true}]})");
  const Diagnosis diagnosis = now(beside);
  ASSERT_TRUE(has(diagnosis, "mongodb.collection", Severity::danger));
  EXPECT_TRUE(mentions(about(diagnosis, "mongodb.collection")->what, "\"gems\" of the gem has a collation"));
  EXPECT_TRUE(has(diagnosis, "mongodb.unique-index", Severity::warning));
}

TEST_F(DiagnosisOfMongo, what_every_client_finds_is_found_here_too) {
  mongo(R"({"createIndexes": "locks", "indexes":
            [{"key": {"expires_at": 1}, "name": "tidy", "expireAfterSeconds": 0}]})");
  const std::string insisting = with(url(), "unsafe=allow");
  const Diagnosis diagnosis = try_diagnose(insisting).value();
  const Traits traits = Caller(insisting).examine();
  EXPECT_FALSE(traits.findings.empty());
  for (const Finding& finding : traits.findings) {
    ASSERT_TRUE(about(diagnosis, finding.topic)) << finding.topic;
    EXPECT_EQ(about(diagnosis, finding.topic)->severity, finding.severity);
  }
}

// The engine of the tests does not identify itself: findings_test.cpp tests that another server answers.
TEST(DiagnosisOfOneMongo, that_accepts_one_connection_still_gives_all_findings_and_one_about_that) {
  const MongoServer server;
  const auto behind = [](const Relay& relay) {
    return try_diagnose("mongodb://127.0.0.1:" + std::to_string(relay.port()) + "/app").value();
  };
  std::vector<int> ports(10, free_port());  // at which nobody is
  ports.front() = server.port();
  const Diagnosis diagnosis = behind(Relay(ports));
  EXPECT_TRUE(has(diagnosis, "mongodb.connections", Severity::warning));
  EXPECT_TRUE(has(diagnosis, "mongodb.standalone", Severity::warning));
  EXPECT_FALSE(about(behind(Relay({server.port()})), "mongodb.connections"));
}

TEST(DiagnosisOfNoMongo, there_is_none_if_no_server_answers) {
  const auto diagnosis = try_diagnose("mongodb://127.0.0.1:1/app");
  ASSERT_FALSE(diagnosis);
  EXPECT_EQ(diagnosis.error().code, Errc::unavailable) << diagnosis.error().detail;
}

}  // namespace
}  // namespace holdfast::test
