// SPDX-License-Identifier: Apache-2.0
// Answers as MongoDB's manual shows them, of servers that cannot be run here.
#include <gtest/gtest.h>

#include "stores/mongodb/findings.h"

namespace holdfast::mongodb {
namespace {

class AnswersOfMongo : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(load_mongoc()); }

  template <class Read>
  static Facts facts(Read read, const char* json) {
    Facts made;
    const Document answer = Document::from_json(json);
    read(View(answer), made);
    return made;
  }
  static Facts rights(const std::string& user, const StoreConfig& config,
                      const ServerProbe& probe = {.set = "rs0"}) {
    Facts made;
    const Document answer = Document::from_json(R"({"authInfo": {)" + user + R"(}, "ok": 1})");
    read_rights(View(answer), probe, config, made);
    return made;
  }
  static StoreConfig config(Layout layout = Layout::own) {
    return {.options = {.uri = {}, .collection = "locks", .layout = layout},
            .uri = nullptr,
            .database = "app",
            .place = "db:27017",
            .secrets = {},
            .client = "0123456789abcdef"};
  }
};

const std::string app_user = R"("authenticatedUsers": [{"user": "app", "db": "admin"}], )";

std::string privilege(const std::string& resource) {
  return R"({"resource": )" + resource + R"(, "actions": ["changeStream", "find", "insert", "listCollections",
            "listIndexes", "remove", "update"]})";
}

TEST_F(AnswersOfMongo, hello_names_the_arbiters_and_the_process) {
  const char* probe = R"({"setName": "rs0", "hosts": ["a:1", "b:1"], "arbiters": ["c:1"],
      "topologyVersion": {"processId": {"$oid": "656565656565656565656565"}, "counter": 6}})";
  EXPECT_EQ(facts(read_probe, probe).arbiters, std::vector<std::string>{"c:1"});
  EXPECT_EQ(facts(read_probe, probe).processes, std::vector<std::string>{"eeeeeeeeeeee"});
  EXPECT_TRUE(facts(read_probe, R"({"ok": 1})").arbiters.empty());
}

TEST_F(AnswersOfMongo, an_engine_in_memory_is_recognised) {
  EXPECT_EQ(
      facts(read_server_status, R"({"storageEngine": {"name": "inMemory", "persistent": false}})").engine,
      "inMemory");
  EXPECT_EQ(
      facts(read_server_status, R"({"storageEngine": {"name": "wiredTiger", "persistent": true}})").engine,
      "");
  EXPECT_EQ(facts(read_server_status, R"({"ok": 1})").engine, "");
}

TEST_F(AnswersOfMongo, a_server_is_open_if_others_reach_it_and_it_knows_no_users) {
  const auto open = [](const char* json) { return facts(read_command_line, json).open; };
  EXPECT_TRUE(open(R"({"parsed": {"net": {"bindIp": "127.0.0.1,10.0.0.5"}}})"));
  EXPECT_TRUE(open(R"({"parsed": {"net": {"bindIpAll": true}}})"));
  EXPECT_TRUE(open(R"({"parsed": {"net": {"bindIp": "*"}, "security": {"authorization": "disabled"}}})"));
  EXPECT_FALSE(open(R"({"parsed": {"net": {"bindIp": "localhost,127.0.0.1,::1,/tmp/a.sock"}}})"));
  EXPECT_FALSE(open(R"({"parsed": {"net": {"bindIp": "*"}, "security": {"authorization": "enabled"}}})"));
  EXPECT_FALSE(open(R"({"parsed": {"net": {"bindIp": "*"}, "security": {"keyFile": "/etc/key"}}})"));
  EXPECT_FALSE(open(R"({"parsed": {}})")) << "it listens on this machine unless it is told otherwise";
}

TEST_F(AnswersOfMongo, the_sets_configuration_says_whether_a_majority_is_journaled) {
  const auto unjournaled = [](const char* json) { return facts(read_set, json).unjournaled; };
  EXPECT_TRUE(unjournaled(R"({"config": {"writeConcernMajorityJournalDefault": false}})"));
  EXPECT_FALSE(unjournaled(R"({"config": {"writeConcernMajorityJournalDefault": true}})"));
  EXPECT_FALSE(unjournaled(R"({"config": {"_id": "rs0"}})"));
}

TEST_F(AnswersOfMongo, the_default_write_concern_is_weak_below_a_majority) {
  const auto weak = [](const char* json) { return facts(read_default_concern, json).weak_default; };
  EXPECT_TRUE(weak(R"({"defaultWriteConcern": {"w": 1, "wtimeout": 0}})"));
  EXPECT_TRUE(weak(R"({"defaultWriteConcern": {"w": 0}})"));
  EXPECT_FALSE(weak(R"({"defaultWriteConcern": {"w": "majority", "wtimeout": 0}})"));
  EXPECT_FALSE(weak(R"({"defaultWriteConcern": {"w": "majority", "wtimeout": 0},
                        "defaultWriteConcernSource": "implicit"})"));
  EXPECT_TRUE(weak(R"({"defaultReadConcern": {"level": "local"}, "defaultWriteConcernSource": "implicit",
                       "defaultReadConcernSource": "implicit"})"))
      << "as a set with arbiters says it";
  EXPECT_FALSE(weak(R"({"defaultReadConcern": {"level": "local"}})")) << "it does not say";
}

TEST_F(AnswersOfMongo, the_role_that_is_documented_lacks_nothing) {
  const Facts facts = rights(app_user + R"("authenticatedUserRoles": [{"role": "readWrite", "db": "app"}],
      "authenticatedUserPrivileges": [)" +
                                 privilege(R"({"db": "app", "collection": ""})") + "]",
                             config());
  EXPECT_TRUE(facts.lacks.empty()) << facts.lacks.front();
  EXPECT_TRUE(facts.lacks_for_jobs.empty());
  EXPECT_TRUE(facts.powers.empty());
}

TEST_F(AnswersOfMongo, what_is_granted_elsewhere_does_not_count) {
  const Facts facts =
      rights(app_user + R"("authenticatedUserPrivileges": [)" +
                 privilege(R"({"db": "other", "collection": ""})") + "," + privilege(R"({"cluster": true})") +
                 "," + privilege(R"({"db": "app", "collection": "locks"})") + "]",
             config());
  const std::vector<std::string> lacks{
      "listCollections on app",           "find on app.locks.holdfast_log",
      "insert on app.locks.holdfast_log", "update on app.locks.holdfast_log",
      "remove on app.locks.holdfast_log", "listIndexes on app.locks.holdfast_log"};
  EXPECT_EQ(facts.lacks, lacks);
  EXPECT_EQ(facts.lacks_for_jobs.size(), 10u);
}

TEST_F(AnswersOfMongo, beside_the_gem_its_collection_is_needed_and_none_for_jobs) {
  const Facts facts = rights(app_user + R"("authenticatedUserPrivileges": [])", config(Layout::mongo_lock));
  EXPECT_NE(std::find(facts.lacks.begin(), facts.lacks.end(), "insert on app.locks"), facts.lacks.end());
  EXPECT_NE(std::find(facts.lacks.begin(), facts.lacks.end(), "insert on app.locks.holdfast"),
            facts.lacks.end());
  EXPECT_TRUE(facts.lacks_for_jobs.empty());
}

TEST_F(AnswersOfMongo, beside_shedlock_the_rights_are_those_of_our_own_layout_without_jobs) {
  const std::string nothing = app_user + R"("authenticatedUserPrivileges": [])";
  const Facts facts = rights(nothing, config(Layout::shedlock));
  EXPECT_EQ(facts.lacks, rights(nothing, config()).lacks);
  EXPECT_TRUE(facts.lacks_for_jobs.empty());
}

TEST_F(AnswersOfMongo, a_server_alone_streams_nothing) {
  const std::string nothing = app_user + R"("authenticatedUserPrivileges": [])";
  const auto streams = [&](const ServerProbe& probe) {
    const auto lacks = rights(nothing, config(), probe).lacks;
    return std::find(lacks.begin(), lacks.end(), "changeStream on app.locks") != lacks.end();
  };
  EXPECT_TRUE(streams({.set = "rs0"}));
  EXPECT_FALSE(streams({}));
}

TEST_F(AnswersOfMongo, root_may_everything_and_is_named) {
  const Facts facts = rights(app_user + R"("authenticatedUserRoles": [{"role": "root", "db": "admin"}],
      "authenticatedUserPrivileges": [)" +
                                 privilege(R"({"anyResource": true})") + "]",
                             config());
  EXPECT_TRUE(facts.lacks.empty());
  EXPECT_EQ(facts.powers, std::vector<std::string>{"root"});
}

TEST_F(AnswersOfMongo, where_nobody_has_logged_in_nothing_is_said_of_rights) {
  const Facts facts = rights(R"("authenticatedUsers": [], "authenticatedUserPrivileges": [])", config());
  EXPECT_TRUE(facts.lacks.empty() && facts.lacks_for_jobs.empty());
}

}  // namespace
}  // namespace holdfast::mongodb
