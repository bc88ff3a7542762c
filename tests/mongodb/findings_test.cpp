// SPDX-License-Identifier: Apache-2.0
// Findings from answers of servers that cannot be run here.
#include "stores/mongodb/findings.h"

#include <gtest/gtest.h>

#include "tests/support/findings.h"

namespace holdfast::mongodb {
namespace {

using namespace std::chrono_literals;
using test::about;

StoreConfig judged_config() {
  return {.options = {.uri = {}, .collection = "locks"},
          .uri = nullptr,
          .database = "app",
          .place = "db:27017",
          .secrets = {},
          .client = "0123456789abcdef"};
}
const ServerProbe set{.set = "rs0"};

Diagnosis judged(const Facts& facts, const ServerProbe& probe = set) {
  return diagnosis_of(probe, facts, judged_config());
}

void expect(const Diagnosis& diagnosis, std::string_view topic, Severity severity) {
  const Finding* finding = about(diagnosis, topic);
  ASSERT_TRUE(finding) << topic;
  EXPECT_EQ(finding->severity, severity) << topic;
  EXPECT_FALSE(finding->what.empty() || finding->advice.empty()) << topic;
  const Grade grade = severity == Severity::danger    ? Grade::D
                      : severity == Severity::warning ? Grade::C
                                                      : Grade::B;
  EXPECT_EQ(diagnosis.grade, grade) << topic;
}

TEST(FindingsOfMongo, a_replica_set_of_which_nothing_is_wrong_is_b) {
  const Diagnosis diagnosis = judged({.version = "7.0.4", .let_in = true, .processes = {"a", "a"}});
  EXPECT_EQ(diagnosis.server, "MongoDB 7.0.4, replica set rs0");
  EXPECT_EQ(diagnosis.grade, Grade::B);
  EXPECT_TRUE(diagnosis.findings.empty()) << diagnosis.findings.front().what;
}

TEST(FindingsOfMongo, a_server_that_no_client_uses_is_a_danger) {
  expect(judged({}, {.set = "rs0", .old = true}), "mongodb.version", Severity::danger);
  expect(judged({}, {.set = "rs0", .secondary = true}), "mongodb.replica", Severity::danger);
  expect(judged({.version = "7.0.4"}, {.router = true}), "mongodb.router", Severity::danger);
  EXPECT_EQ(judged({.version = "7.0.4"}, {.router = true}).server, "MongoDB 7.0.4, router");
  expect(judged({.processes = {"a", "b"}}), "mongodb.identity", Severity::danger);
}

TEST(FindingsOfMongo, a_server_that_lets_no_further_connection_in_is_warned_of) {
  expect(judged({.crowded = "too many"}), "mongodb.connections", Severity::warning);
}

TEST(FindingsOfMongo, a_collection_that_is_sharded_is_warned_of) {
  EXPECT_EQ(about(judged({.sharded = true}), "mongodb.sharded")->severity, Severity::warning);
}

TEST(FindingsOfMongo, what_a_power_cut_or_a_restart_takes_is_warned_of) {
  expect(judged({.unjournaled = true}), "mongodb.journal", Severity::warning);
  expect(judged({.engine = "inMemory"}), "mongodb.in-memory", Severity::warning);
}

TEST(FindingsOfMongo, arbiters_and_a_weak_default_are_noted) {
  expect(judged({.arbiters = {"db3:27017"}}), "mongodb.arbiters", Severity::note);
  expect(judged({.weak_default = true}), "mongodb.write-concern", Severity::note);
}

TEST(FindingsOfMongo, clocks_of_members_that_differ_for_certain_are_warned_of) {
  const auto clocks = [](Micros ahead, Micros or_more) {
    return judged({.clocks = {{"a:1", 1h, 5ms}, {"b:1", 1h + ahead, or_more}, {"c:1", 1h, 0ms}}});
  };
  expect(clocks(2s, 1ms), "mongodb.clocks", Severity::warning);
  expect(clocks(-2s, 1ms), "mongodb.clocks", Severity::warning);
  EXPECT_NE(about(clocks(2s, 1ms), "mongodb.clocks")->what.find("b:1 is ahead of"), std::string::npos);
  EXPECT_FALSE(about(clocks(50ms, 1ms), "mongodb.clocks"));
  EXPECT_FALSE(about(clocks(-2s, 3s), "mongodb.clocks")) << "the answer took so long";
}

TEST(FindingsOfMongo, rights_that_are_missing_and_rights_that_reach_too_far_are_found) {
  expect(judged({.lacks = {"insert on app.locks"}}), "mongodb.rights", Severity::danger);
  expect(judged({.lacks_for_jobs = {"insert on app.locks.holdfast_jobs"}}), "mongodb.rights-of-jobs",
         Severity::note);
  expect(judged({.powers = {"root"}}), "mongodb.account", Severity::note);
  EXPECT_EQ(test::blocking_topics_of(judged({.lacks = {"insert"}, .lacks_for_jobs = {"insert"}}).findings),
            std::vector<std::string>{"mongodb.rights"});
}

TEST(FindingsOfMongo, the_connection_to_another_machine_is_checked) {
  StoreConfig there = judged_config();
  there.local = false;
  expect(diagnosis_of(set, {}, there), "mongodb.tls", Severity::warning);
  there.tls = true;
  there.verified = false;
  expect(diagnosis_of(set, {}, there), "mongodb.tls", Severity::warning);
  there.verified = true;
  EXPECT_FALSE(about(diagnosis_of(set, {}, there), "mongodb.tls"));
  EXPECT_FALSE(about(diagnosis_of(set, {}, judged_config()), "mongodb.tls"));
}

TEST(FindingsOfMongo, the_connection_to_a_member_on_another_machine_is_checked_too) {
  StoreConfig here = judged_config();
  const ServerProbe spread{.set = "rs0", .elsewhere = "db.example:27017"};
  EXPECT_FALSE(about(diagnosis_of(spread, {}, here), "mongodb.tls")) << "it is not talked to";
  here.plaintext_allowed = true;
  expect(diagnosis_of(spread, {}, here), "mongodb.tls", Severity::warning);
  EXPECT_NE(about(diagnosis_of(spread, {}, here), "mongodb.tls")->what.find("db.example:27017"),
            std::string::npos);
  here.tls = true;
  EXPECT_FALSE(about(diagnosis_of(spread, {}, here), "mongodb.tls"));
}

TEST(FindingsOfMongo, a_server_that_anybody_reaches_without_a_password_is_warned_of) {
  StoreConfig there = judged_config();
  expect(diagnosis_of(set, {.let_in = true, .open = true}, there), "mongodb.no-password", Severity::warning);
  EXPECT_FALSE(about(diagnosis_of(set, {.let_in = true}, there), "mongodb.no-password"));
  there.local = false;
  there.tls = true;
  expect(diagnosis_of(set, {.let_in = true}, there), "mongodb.no-password", Severity::warning);
  EXPECT_FALSE(about(diagnosis_of(set, {}, there), "mongodb.no-password")) << "nobody let us in";
  there.logs_in = true;
  EXPECT_FALSE(about(diagnosis_of(set, {.let_in = true, .open = true}, there), "mongodb.no-password"));
}

}  // namespace
}  // namespace holdfast::mongodb
