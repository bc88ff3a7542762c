// SPDX-License-Identifier: Apache-2.0
// Findings from answers of servers that cannot be run here.
#include "stores/redis/findings.h"

#include <gtest/gtest.h>

#include "tests/support/findings.h"

namespace holdfast::redis {
namespace {

using test::about;

StoreConfig config(Options options = {}) { return {std::move(options), nullptr, "0123456789abcdef"}; }

Diagnosis judged(std::string_view info, const Depth& depth = {}, const StoreConfig& where = config()) {
  return diagnosis_of(ServerInfo(info), depth, where);
}

Severity severity_of(const Diagnosis& diagnosis, std::string_view topic) {
  const Finding* finding = about(diagnosis, topic);
  if (!finding) throw std::runtime_error("nothing was found about " + std::string(topic));
  return finding->severity;
}

TEST(FindingsOfRedis, an_append_only_file_that_cannot_be_written_is_a_danger) {
  const Diagnosis broken = judged("aof_enabled:1\r\naof_last_write_status:err\r\n");
  EXPECT_EQ(severity_of(broken, "redis.append-errors"), Severity::danger);
  EXPECT_EQ(broken.grade, Grade::D);
  EXPECT_FALSE(about(judged("aof_enabled:1\r\naof_last_write_status:ok\r\n"), "redis.append-errors"));
}

TEST(FindingsOfRedis, two_servers_that_answer_are_a_danger) {
  EXPECT_EQ(severity_of(judged("", {.run_ids = {"a", "a", "b", "a"}}), "redis.identity"), Severity::danger);
  EXPECT_FALSE(about(judged("", {.run_ids = {"a", "a"}}), "redis.identity"));
  EXPECT_FALSE(about(judged(""), "redis.identity"));
}

TEST(FindingsOfRedis, only_without_the_rights_of_a_client_no_lease_is_granted) {
  EXPECT_EQ(test::blocking_topics_of(judged("", {.lacks = {"EVALSHA"}, .lacks_for_jobs = {"SCAN"}}).findings),
            std::vector<std::string>{"redis.rights"});
}

TEST(FindingsOfRedis,
     a_connection_to_another_machine_without_tls_is_a_warning_reported_at_open_with_a_password) {
  const Diagnosis open = judged("", {}, config({.host = "db.example"}));
  EXPECT_EQ(severity_of(open, "redis.tls"), Severity::warning);
  EXPECT_FALSE(about(open, "redis.tls")->at_open);
  const Diagnosis secret = judged("", {}, config({.host = "db.example", .password = "canary"}));
  EXPECT_TRUE(about(secret, "redis.tls")->at_open);
  EXPECT_EQ(about(secret, "redis.tls")->what.find("canary"), std::string::npos);
  EXPECT_FALSE(about(judged("", {}, config({.host = "db.example", .tls = true})), "redis.tls"));
  EXPECT_FALSE(about(judged("", {}, config({.host = "127.0.0.1"})), "redis.tls"));
}

TEST(FindingsOfRedis, another_machine_that_wants_no_password_is_warned_of) {
  const auto found = [](Options options) {
    return about(judged("", {}, config(std::move(options))), "redis.no-password") != nullptr;
  };
  EXPECT_TRUE(found({.host = "db.example"}));
  EXPECT_TRUE(found({.host = "db.example", .tls = true}));
  EXPECT_FALSE(found({.host = "db.example", .tls = true, .cert = "me.pem", .key = "me.key"}));
  EXPECT_FALSE(found({.host = "db.example", .password = "secret"}));
  EXPECT_FALSE(found({.host = "localhost"}));
  EXPECT_FALSE(found({.socket = "/run/redis.sock"}));
}

TEST(FindingsOfRedis, relatives_are_called_by_their_names_and_noted) {
  const auto kind = [](const std::string& told) { return judged("redis_version:7.2.4\r\n" + told + "\r\n"); };
  EXPECT_EQ(kind("valkey_version:8.0.1").server, "Valkey 8.0.1");
  EXPECT_EQ(kind("dragonfly_version:df-v1.2.3").server, "Dragonfly df-v1.2.3");
  EXPECT_EQ(kind("mvcc_depth:0").server, "KeyDB 7.2.4");
  EXPECT_EQ(kind("").server, "Redis 7.2.4");
  EXPECT_EQ(severity_of(kind("valkey_version:8.0.1"), "redis.kind"), Severity::note);
  EXPECT_FALSE(about(kind(""), "redis.kind"));
}

// What is not known to be durable is not called so.
TEST(FindingsOfRedis, a_server_is_class_b_only_if_each_grant_is_on_disk_before_its_answer) {
  const std::string good = "aof_enabled:1\r\nuptime_in_seconds:3\r\n";
  EXPECT_EQ(judged(good, {.appendfsync = "always"}).grade, Grade::B);
  EXPECT_EQ(judged(good).grade, Grade::C) << "CONFIG GET was forbidden";
  EXPECT_EQ(judged("aof_enabled:0\r\n", {.appendfsync = "always"}).grade, Grade::C);
  EXPECT_EQ(judged(good + "connected_slaves:1\r\n", {.appendfsync = "always"}).grade, Grade::C);
  EXPECT_EQ(judged(good, {.appendfsync = "always"}, config({.layout = Layout::active_job_lock})).grade,
            Grade::C);
}

TEST(FindingsOfRedis, one_that_has_been_up_for_a_minute_is_not_newly_started) {
  EXPECT_EQ(severity_of(judged("uptime_in_seconds:59\r\n"), "redis.restarted"), Severity::warning);
  EXPECT_FALSE(about(judged("uptime_in_seconds:60\r\n"), "redis.restarted"));
}

}  // namespace
}  // namespace holdfast::redis
