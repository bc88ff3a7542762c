// SPDX-License-Identifier: Apache-2.0
// Which servers are accepted for leases, and which warnings they cause.
#include <algorithm>

#include "tests/redis/suite.h"
#include "tests/support/findings.h"

namespace holdfast::test {
namespace {

bool has(const std::vector<std::string>& sentences, std::string_view word) {
  return std::any_of(sentences.begin(), sentences.end(),
                     [&](const std::string& sentence) { return mentions(sentence, word); });
}

TEST(ServerOfRedis, one_that_evicts_is_refused_and_says_what_would_be_right) {
  for (const char* policy : {"allkeys-lru", "volatile-ttl", "allkeys-random"}) {
    const RedisServer server({.lines = {"maxmemory 100mb", std::string("maxmemory-policy ") + policy}});
    const Status status = try_connect(server.url());
    ASSERT_FALSE(status) << policy;
    EXPECT_EQ(status.error().code, Errc::refused);
    EXPECT_TRUE(mentions(status.error().detail, policy)) << status.error().detail;
    EXPECT_TRUE(mentions(status.error().detail, "noeviction")) << status.error().detail;
    EXPECT_TRUE(mentions(status.error().detail, "accept=redis.eviction")) << status.error().detail;
    EXPECT_EQ(server.command({"DBSIZE"}), "0") << "nothing was written there";
  }
}

TEST(ServerOfRedis, one_that_evicts_is_used_if_accepted_and_is_class_d) {
  const RedisServer server({.lines = {"maxmemory 100mb", "maxmemory-policy allkeys-lru"}});
  Caller caller(server.url() + "?unsafe=allow");
  EXPECT_EQ(caller.acquire("k", "ann").verdict, Verdict::granted);
  const Traits traits = caller.examine();
  EXPECT_EQ(traits.grade, Grade::D);
  EXPECT_TRUE(has(found(traits), "evicts keys"));
  EXPECT_TRUE(told(traits).empty()) << "who insists knows";
}

TEST(ServerOfRedis, one_finding_is_accepted_by_its_topic_and_the_others_are_not) {
  const RedisServer server({.lines = {"maxmemory 100mb", "maxmemory-policy allkeys-lru", "appendonly no"}});
  EXPECT_EQ(try_connect(server.url() + "?accept=redis.appendonly").error().code, Errc::refused);
  Caller evicting(server.url() + "?accept=redis.eviction");
  EXPECT_EQ(evicting.acquire("k", "ann").verdict, Verdict::granted);
  EXPECT_EQ(evicting.examine().grade, Grade::D);
  EXPECT_TRUE(has(told(evicting.examine()), "append-only"));
  EXPECT_FALSE(has(told(evicting.examine()), "evicts keys"));
  Caller both(server.url() + "?accept=redis.eviction,redis.appendonly");
  EXPECT_TRUE(told(both.examine()).empty());
  const Diagnosis diagnosis = both.store().admin()->diagnose(soon()).value();
  EXPECT_EQ(diagnosis.grade, Grade::D) << "that it is accepted makes it no better";
  for (const Finding& finding : diagnosis.findings)
    EXPECT_EQ(finding.accepted, finding.topic == "redis.eviction" || finding.topic == "redis.appendonly")
        << finding.topic;
}

TEST(ServerOfRedis, a_policy_without_a_limit_and_a_limit_without_eviction_are_fine) {
  const RedisServer unlimited({.lines = {"maxmemory-policy allkeys-lru"}});
  EXPECT_TRUE(try_connect(unlimited.url()));
  const RedisServer limited({.lines = {"maxmemory 100mb", "maxmemory-policy noeviction"}});
  EXPECT_TRUE(try_connect(limited.url()));
}

TEST(ServerOfRedis, one_with_an_append_only_file_and_no_replica_has_nothing_to_warn_of) {
  const RedisServer server;
  const Traits traits = Caller(server.url()).examine();
  EXPECT_EQ(traits.name, "redis");
  EXPECT_EQ(traits.grade, Grade::C);
  EXPECT_TRUE(traits.push && traits.fair && traits.tidies);
  EXPECT_TRUE(told(traits).empty()) << told(traits).front();
  EXPECT_TRUE(found(traits).empty());
}

TEST(ServerOfRedis, one_that_forgets_when_restarted_is_warned_of) {
  const RedisServer server({.lines = {"appendonly no"}});
  const Traits traits = Caller(server.url()).examine();
  EXPECT_TRUE(has(told(traits), "append-only"));
  EXPECT_TRUE(has(found(traits), "append-only"));
  std::vector<std::string> told;
  const Client client = open(server.url(), {.log = [&](std::string_view line) { told.emplace_back(line); }});
  ASSERT_EQ(told.size(), 1u);
  EXPECT_TRUE(told[0].starts_with(server.url() + ": the server has no append-only file")) << told[0];
  EXPECT_TRUE(mentions(told[0], "; set appendonly yes, or accept it with accept=redis.appendonly"))
      << told[0];
}

TEST(ServerOfRedis, findings_go_to_on_finding_instead_of_the_log) {
  const RedisServer server({.lines = {"appendonly no"}});
  std::vector<std::string> told, topics;
  const Client client = open(server.url(), {.log = [&](std::string_view line) { told.emplace_back(line); },
                                            .on_finding =
                                                [&](const Finding& finding, std::string_view line) {
                                                  topics.push_back(finding.topic);
                                                  EXPECT_TRUE(line.starts_with(server.url() + ": ")) << line;
                                                }});
  EXPECT_TRUE(told.empty());
  EXPECT_EQ(topics, std::vector<std::string>{"redis.appendonly"});
}

TEST(ServerOfRedis, a_replica_is_refused_and_its_primary_is_warned_of) {
  const RedisServer primary;
  const RedisServer replica({.lines = {"replicaof 127.0.0.1 " + std::to_string(primary.port())}});
  const Status status = try_connect(replica.url());
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, Errc::refused);
  EXPECT_TRUE(mentions(status.error().detail, "127.0.0.1:" + std::to_string(primary.port())))
      << status.error().detail;
  Caller caller(primary.url());
  ASSERT_TRUE(await([&] { return has(told(caller.examine()), "1 replica:"); }));
}

TEST(ServerOfRedis, one_of_a_cluster_is_refused) {
  const RedisServer server({.lines = {"cluster-enabled yes"}});
  const Status status = try_connect(server.url());
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, Errc::refused);
  EXPECT_TRUE(mentions(status.error().detail, "Cluster")) << status.error().detail;
}

TEST(ServerOfRedis, one_that_becomes_a_replica_while_we_are_connected_is_refused) {
  const RedisServer primary, server;
  Caller caller(server.url());
  ASSERT_TRUE(caller.try_acquire("k"));
  server.command({"REPLICAOF", "127.0.0.1", std::to_string(primary.port())});
  const auto reply = caller.try_acquire("l");
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error().code, Errc::refused) << reply.error().detail;
  EXPECT_TRUE(mentions(reply.error().detail, "replica")) << reply.error().detail;
}

TEST(ServerOfRedis, nearly_full_memory_and_past_evictions_are_found) {
  const RedisServer server;
  server.command({"SET", "filler", std::string(1 << 20, 'x')});
  Caller caller(server.url());
  server.command({"CONFIG", "SET", "maxmemory", "1"});
  EXPECT_TRUE(has(found(caller.examine()), "nearly full"));
  server.command({"CONFIG", "SET", "maxmemory-policy", "allkeys-lru"});
  server.command({"SET", "one", "more"});
  EXPECT_TRUE(has(found(caller.examine()), "has evicted"));
}

}  // namespace
}  // namespace holdfast::test
