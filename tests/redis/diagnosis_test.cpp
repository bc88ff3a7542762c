// SPDX-License-Identifier: Apache-2.0
// What `doctor` finds on a server that is configured so.
#include <filesystem>

#include "tests/redis/documented_acl.h"
#include "tests/redis/suite.h"
#include "tests/support/findings.h"
#include "tests/support/servers/relay.h"

namespace holdfast::test {
namespace {

Result<Diagnosis> try_diagnose(const std::string& url) {
  return try_store(url).value()->admin()->diagnose(soon());
}
Diagnosis diagnose(const std::string& url) { return try_diagnose(url).value(); }

class DiagnosisOfRedis : public RedisTest {
 protected:
  Diagnosis now(const std::string& parameters = "") { return diagnose(server_.url() + parameters); }
  void set(const std::string& name, const std::string& value) {
    ASSERT_EQ(redis({"CONFIG", "SET", name, value}), "OK") << name;
  }
};

TEST_F(DiagnosisOfRedis, says_what_the_server_is_and_changes_nothing) {
  const Diagnosis diagnosis = now("?prefix=locks:");
  const std::string version(redis({"INFO", "server"}));
  const std::size_t at = version.find("redis_version:") + 14;
  EXPECT_EQ(diagnosis.server, "Redis " + version.substr(at, version.find('\r', at) - at));
  EXPECT_EQ(redis({"DBSIZE"}), "0");
  EXPECT_EQ(redis({"PUBSUB", "CHANNELS"}), "");
}

TEST_F(DiagnosisOfRedis, a_server_that_evicts_is_a_danger_though_no_client_is_let_in) {
  set("maxmemory", "100mb");
  set("maxmemory-policy", "allkeys-lru");
  ASSERT_FALSE(try_connect(server_.url()));
  const Diagnosis diagnosis = now();
  EXPECT_TRUE(has(diagnosis, "redis.eviction", Severity::danger));
  EXPECT_EQ(diagnosis.grade, Grade::D);
  EXPECT_EQ(redis({"DBSIZE"}), "0");
}

TEST_F(DiagnosisOfRedis, what_every_client_finds_is_found_here_too) {
  redis({"SET", "filler", std::string(1 << 20, 'x')});
  set("appendonly", "no");
  set("maxmemory", "1");
  EXPECT_TRUE(has(now(), "redis.memory", Severity::warning));
  set("maxmemory-policy", "allkeys-lru");
  redis({"SET", "one", "more"});
  const std::string url = server_.url() + "?unsafe=allow&layout=active_job_lock";
  const Traits traits = Caller(url).examine();
  const Diagnosis diagnosis = diagnose(url);
  EXPECT_TRUE(has(diagnosis, "redis.evicted", Severity::warning));
  EXPECT_TRUE(has(diagnosis, "redis.appendonly", Severity::warning));
  EXPECT_TRUE(has(diagnosis, "redis.layout", Severity::warning));
  for (const Finding& finding : traits.findings) {
    const Finding* again = about(diagnosis, finding.topic);
    ASSERT_TRUE(again) << finding.topic;
    EXPECT_EQ(again->severity, finding.severity) << finding.topic;
  }
}

TEST_F(DiagnosisOfRedis, what_a_power_cut_can_take_is_warned_of_and_without_it_the_server_is_b) {
  const Diagnosis usual = now();
  EXPECT_TRUE(has(usual, "redis.appendfsync", Severity::warning));
  EXPECT_TRUE(has(usual, "redis.restarted", Severity::warning));
  EXPECT_EQ(usual.grade, Grade::C);
  set("appendfsync", "always");
  const Diagnosis best = now();
  EXPECT_FALSE(about(best, "redis.appendfsync"));
  EXPECT_FALSE(about(best, "redis.restarted"));
  EXPECT_EQ(best.grade, Grade::B);
  set("appendfsync", "no");
  EXPECT_TRUE(has(now(), "redis.appendfsync", Severity::warning));
}

TEST_F(DiagnosisOfRedis, an_append_only_file_that_cannot_be_rewritten_is_a_danger) {
  EXPECT_FALSE(about(now(), "redis.rewrite-errors"));
  std::filesystem::rename(server_.folder() + "/appendonlydir", server_.folder() + "/away");
  write_file(server_.folder() + "/appendonlydir", "no folder");
  redis({"BGREWRITEAOF"});
  EXPECT_TRUE(await([&] { return has(now(), "redis.rewrite-errors", Severity::danger); }));
}

TEST_F(DiagnosisOfRedis, a_replica_and_a_primary_that_has_one_are_found) {
  const RedisServer primary;
  redis({"REPLICAOF", "127.0.0.1", std::to_string(primary.port())});
  EXPECT_TRUE(has(now(), "redis.replica", Severity::danger));
  EXPECT_EQ(now().grade, Grade::D);
  EXPECT_TRUE(await([&] { return has(diagnose(primary.url()), "redis.replicas", Severity::warning); }));
  EXPECT_FALSE(about(diagnose(primary.url()), "redis.replica"));
}

TEST_F(DiagnosisOfRedis, clients_that_may_be_thrown_out_are_noted) {
  EXPECT_FALSE(about(now(), "redis.client-eviction"));
  set("maxmemory-clients", "100mb");
  EXPECT_TRUE(has(now(), "redis.client-eviction", Severity::note));
}

TEST_F(DiagnosisOfRedis, a_server_that_anybody_reaches_without_a_password_is_warned_of) {
  set("protected-mode", "no");
  EXPECT_FALSE(about(now(), "redis.no-password")) << "it listens on this machine only";
  set("bind", "127.0.0.1 -192.0.2.1");  // an address for examples, which no machine has
  EXPECT_TRUE(has(now(), "redis.no-password", Severity::warning));
  set("protected-mode", "yes");
  EXPECT_FALSE(about(now(), "redis.no-password"));
}

// AUTH default x is answered with OK where the default user needs no password.
TEST_F(DiagnosisOfRedis, a_password_that_nobody_asks_for_hides_nothing) {
  set("protected-mode", "no");
  set("bind", "127.0.0.1 -192.0.2.1");
  const std::string url = "redis://default:x@127.0.0.1:" + std::to_string(server_.port());
  const Diagnosis open = diagnose(url);
  EXPECT_TRUE(has(open, "redis.no-password", Severity::warning));
  EXPECT_TRUE(mentions(the(open, "redis.account").what, "anyone who reaches the server"));
  ASSERT_EQ(redis({"ACL", "SETUSER", "app", "on", ">secret", "+@all", "~*", "&*"}), "OK");
  const std::string app = "redis://app:secret@127.0.0.1:" + std::to_string(server_.port());
  EXPECT_TRUE(has(diagnose(app), "redis.no-password", Severity::warning)) << "others need no user";
  set("requirepass", "x");
  EXPECT_FALSE(about(diagnose(url), "redis.no-password"));
  EXPECT_FALSE(about(diagnose(app), "redis.no-password"));
}

TEST_F(DiagnosisOfRedis, several_servers_at_one_address_are_a_danger) {
  const RedisServer other;
  const auto behind = [](const Relay& relay) {
    return diagnose("redis://127.0.0.1:" + std::to_string(relay.port()));
  };
  EXPECT_TRUE(has(behind(Relay({server_.port(), other.port()})), "redis.identity", Severity::danger));
  EXPECT_FALSE(about(behind(Relay({server_.port()})), "redis.identity"));
}

TEST(DiagnosisOfOtherRedis, one_that_accepts_one_connection_still_gives_all_findings_and_one_about_that) {
  const RedisServer server({.lines = {"maxclients 1"}});
  EXPECT_TRUE(await([&] {  // it may not have seen yet that the last one has gone
    const auto diagnosis = try_diagnose(server.url());
    return diagnosis && has(*diagnosis, "redis.connections", Severity::warning) &&
           has(*diagnosis, "redis.appendfsync", Severity::warning);
  }));
}

TEST(DiagnosisOfOtherRedis, one_of_a_cluster_is_a_danger) {
  const RedisServer server({.lines = {"cluster-enabled yes"}});
  const Diagnosis diagnosis = diagnose(server.url() + "/3");
  EXPECT_TRUE(has(diagnosis, "redis.cluster", Severity::danger));
  EXPECT_EQ(diagnosis.grade, Grade::D);
}

TEST(DiagnosisOfOtherRedis, a_sentinel_is_a_danger_and_refused_by_name) {
  const RedisServer server({.sentinel = true});
  EXPECT_TRUE(has(diagnose(server.url()), "redis.sentinel", Severity::danger));
  const Status status = try_connect(server.url());
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, Errc::refused);
  EXPECT_TRUE(mentions(status.error().detail, "Sentinel")) << status.error().detail;
}

TEST(DiagnosisOfOtherRedis, there_is_none_if_the_server_does_not_answer_or_refuses_us) {
  RedisServer server({.password = "canary"});
  const auto stranger = try_diagnose("redis://127.0.0.1:" + std::to_string(server.port()));
  ASSERT_FALSE(stranger);
  EXPECT_EQ(stranger.error().code, Errc::refused) << stranger.error().detail;
  const auto wrong = try_diagnose("redis://:wrong@127.0.0.1:" + std::to_string(server.port()));
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().code, Errc::refused) << wrong.error().detail;
  const Diagnosis let_in = diagnose(server.url());
  for (const Finding& finding : let_in.findings)
    EXPECT_FALSE(mentions(finding.what + finding.advice, "canary"));
  server.kill();
  const auto gone = try_diagnose(server.url());
  ASSERT_FALSE(gone);
  EXPECT_EQ(gone.error().code, Errc::unavailable) << gone.error().detail;
}

class RightsOfRedis : public DiagnosisOfRedis {
 protected:
  void SetUp() override { ASSERT_EQ(redis(documented_acl(HOLDFAST_SOURCE "/docs/stores/redis.md")), "OK"); }
  Diagnosis as_app(const std::string& parameters = "?prefix=locks:") {
    return diagnose("redis://app:secret@127.0.0.1:" + std::to_string(server_.port()) + parameters);
  }
  void change(const std::string& rule) { ASSERT_EQ(redis({"ACL", "SETUSER", "app", rule}), "OK") << rule; }
};

TEST_F(RightsOfRedis, what_is_documented_is_enough_and_what_it_hides_is_noted) {
  const Diagnosis diagnosis = as_app();
  EXPECT_FALSE(about(diagnosis, "redis.rights"));
  EXPECT_FALSE(about(diagnosis, "redis.rights-of-jobs"));
  EXPECT_FALSE(about(diagnosis, "redis.account"));
  EXPECT_TRUE(has(diagnosis, "redis.unseen", Severity::note));
  EXPECT_EQ(diagnosis.grade, Grade::C);
}

TEST_F(RightsOfRedis, a_user_who_may_do_everything_is_noted) {
  const Diagnosis diagnosis = now();
  EXPECT_TRUE(has(diagnosis, "redis.account", Severity::note));
  EXPECT_TRUE(mentions(about(diagnosis, "redis.account")->what, "anyone who reaches the server"));
  EXPECT_FALSE(about(diagnosis, "redis.unseen"));
}

TEST_F(RightsOfRedis, each_right_that_is_documented_is_missed_when_it_is_taken_away) {
  const std::vector<std::string> jobs{"+incr", "+hgetall", "+zrevrangebyscore"};
  int taken = 0;
  for (const std::string& rule : documented_acl(HOLDFAST_SOURCE "/docs/stores/redis.md")) {
    const bool can_do_without = rule == "+client|setname" || rule == "+strlen";
    if (!rule.starts_with('+') || can_do_without) continue;
    change("-" + rule.substr(1));
    const bool of_jobs = std::find(jobs.begin(), jobs.end(), rule) != jobs.end();
    const char* topic = of_jobs ? "redis.rights-of-jobs" : "redis.rights";
    const Diagnosis diagnosis = as_app("/1?prefix=locks:");
    EXPECT_TRUE(has(diagnosis, topic, of_jobs ? Severity::note : Severity::danger)) << rule;
    if (const Finding* finding = about(diagnosis, topic)) {
      EXPECT_TRUE(mentions(finding->what, rule.substr(1))) << finding->what;
      EXPECT_FALSE(mentions(finding->what, "info on the keys")) << "it has none: " << finding->what;
      EXPECT_TRUE(mentions(finding->advice, "ACL SETUSER app ~locks:* ")) << finding->advice;
      EXPECT_TRUE(mentions(finding->advice, rule)) << finding->advice;
    }
    EXPECT_EQ(diagnosis.grade, of_jobs ? Grade::C : Grade::D) << rule;
    change(rule);
    ++taken;
  }
  EXPECT_GT(taken, 30);
}

TEST_F(RightsOfRedis, keys_and_channels_that_are_out_of_reach_are_missed) {
  EXPECT_TRUE(has(as_app("?prefix=others:"), "redis.rights", Severity::danger));
  change("resetchannels");
  const Diagnosis diagnosis = as_app();
  ASSERT_TRUE(has(diagnosis, "redis.rights", Severity::danger));
  EXPECT_TRUE(mentions(about(diagnosis, "redis.rights")->what, "publish, subscribe"));
}

}  // namespace
}  // namespace holdfast::test
