// SPDX-License-Identifier: Apache-2.0
// Findings from answers of servers that cannot be run here.
#include "stores/redis/findings.h"

#include <gtest/gtest.h>

#include "tests/support/findings.h"

namespace holdfast::redis {
namespace {

using test::about;

StoreConfig config(Options options = {}) { return {std::move(options), nullptr, "0123456789abcdef"}; }

Diagnosis judged(std::string_view info, const Facts& facts = {}, const StoreConfig& where = config()) {
  return diagnosis_of(ServerInfo(info), facts, where);
}

Severity severity_of(const Diagnosis& diagnosis, std::string_view topic) {
  const Finding* finding = about(diagnosis, topic);
  if (!finding) throw std::runtime_error("nothing was found about " + std::string(topic));
  return finding->severity;
}

TEST(JudgementOfRedis, an_append_only_file_that_cannot_be_written_is_a_danger) {
  const Diagnosis broken = judged("aof_enabled:1\r\naof_last_write_status:err\r\n");
  EXPECT_EQ(severity_of(broken, "redis.append-errors"), Severity::danger);
  EXPECT_EQ(broken.grade, Grade::D);
  EXPECT_FALSE(about(judged("aof_enabled:1\r\naof_last_write_status:ok\r\n"), "redis.append-errors"));
}

TEST(JudgementOfRedis, two_servers_that_answer_are_a_danger) {
  EXPECT_EQ(severity_of(judged("", {.run_ids = {"a", "a", "b", "a"}}), "redis.identity"), Severity::danger);
  EXPECT_FALSE(about(judged("", {.run_ids = {"a", "a"}}), "redis.identity"));
  EXPECT_FALSE(about(judged(""), "redis.identity"));
}

TEST(JudgementOfRedis,
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

TEST(JudgementOfRedis, another_machine_that_wants_no_password_is_warned_of) {
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

TEST(JudgementOfRedis, versions_with_known_holes_are_named_and_mended_ones_are_not) {
  const auto holes = [](const std::string& version) {
    const Diagnosis diagnosis = judged("redis_version:" + version + "\r\n");
    const Finding* finding = about(diagnosis, "redis.known-holes");
    if (!finding) return std::string();
    EXPECT_EQ(finding->severity, Severity::note);
    const auto has = [&](const char* hole) { return finding->what.find(hole) != std::string::npos; };
    return std::string(has("CVE-2025-49844") ? "lua" : "") + (has("CVE-2026-23479") ? "blocked" : "");
  };
  for (const char* version : {"5.0.14", "6.2.19", "7.0.15"}) EXPECT_EQ(holes(version), "lua") << version;
  for (const char* version : {"7.2.10", "7.4.5", "8.0.3", "8.2.1"})
    EXPECT_EQ(holes(version), "luablocked") << version;
  for (const char* version : {"7.2.11", "7.4.6", "8.0.4", "8.2.2", "8.4.0", "8.6.2"})
    EXPECT_EQ(holes(version), "blocked") << version;
  for (const char* version : {"6.2.20", "8.6.3", "9.0.0", ""}) EXPECT_EQ(holes(version), "") << version;
}

TEST(JudgementOfRedis, relatives_are_called_by_their_names_and_noted) {
  const auto kind = [](const std::string& told) { return judged("redis_version:7.2.4\r\n" + told + "\r\n"); };
  EXPECT_EQ(kind("valkey_version:8.0.1").server, "Valkey 8.0.1");
  EXPECT_EQ(kind("dragonfly_version:df-v1.2.3").server, "Dragonfly df-v1.2.3");
  EXPECT_EQ(kind("mvcc_depth:0").server, "KeyDB 7.2.4");
  EXPECT_EQ(kind("").server, "Redis 7.2.4");
  EXPECT_EQ(severity_of(kind("valkey_version:8.0.1"), "redis.kind"), Severity::note);
  EXPECT_FALSE(about(kind("valkey_version:8.0.1"), "redis.known-holes")) << "the numbers are Redis's";
  EXPECT_FALSE(about(kind(""), "redis.kind"));
}

// What is not known to be durable is not called so.
TEST(JudgementOfRedis, a_server_is_class_b_only_if_each_grant_is_on_disk_before_its_answer) {
  const std::string good = "aof_enabled:1\r\nuptime_in_seconds:3\r\n";
  EXPECT_EQ(judged(good, {.appendfsync = "always"}).grade, Grade::B);
  EXPECT_EQ(judged(good).grade, Grade::C) << "CONFIG GET was forbidden";
  EXPECT_EQ(judged("aof_enabled:0\r\n", {.appendfsync = "always"}).grade, Grade::C);
  EXPECT_EQ(judged(good + "connected_slaves:1\r\n", {.appendfsync = "always"}).grade, Grade::C);
  EXPECT_EQ(judged(good, {.appendfsync = "always"}, config({.layout = Layout::active_job_lock})).grade,
            Grade::C);
}

TEST(JudgementOfRedis, one_that_has_been_up_for_a_minute_is_not_newly_started) {
  EXPECT_EQ(severity_of(judged("uptime_in_seconds:59\r\n"), "redis.restarted"), Severity::warning);
  EXPECT_FALSE(about(judged("uptime_in_seconds:60\r\n"), "redis.restarted"));
}

}  // namespace
}  // namespace holdfast::redis
