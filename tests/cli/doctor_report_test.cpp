// SPDX-License-Identifier: Apache-2.0
// What people and scripts are told of what the doctor found.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "cli/doctor/report.h"
#include "cli/output.h"

namespace holdfast::cli {
namespace {

using namespace std::chrono_literals;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;

Grant reported_grant(std::size_t key, std::uint64_t token, Millis from, Millis to) {
  constexpr Instant start{1000s};
  return {.key = key, .token = Token{token}, .from = start + from, .to = start + to};
}

Report report_with(std::vector<Finding> findings) {
  Report report{.store = "redis://cache", .diagnosis = {.server = "Redis 7.0.15", .grade = Grade::B}};
  report.diagnosis.findings = std::move(findings);
  settle(report);
  return report;
}
const Finding note{Severity::note, "redis.kind", "it is a Redis", ""};
const Finding warning{Severity::warning, "redis.appendonly", "no append-only file: a restart forgets all",
                      "turn it on"};
const Finding danger{Severity::danger, "redis.eviction", "it evicts; keys vanish", "noeviction"};

TEST(DoctorsReport, the_exit_code_says_how_bad_it_is) {
  const struct {
    std::vector<Finding> findings;
    int code, strict;
    Grade grade;
  } table[] = {{{}, 0, 0, Grade::B},
               {{note}, 0, 0, Grade::B},
               {{note, warning}, 1, 77, Grade::C},
               {{danger}, 77, 77, Grade::D},
               {{warning, danger, note}, 77, 77, Grade::D}};
  for (const auto& row : table) {
    const Report report = report_with(row.findings);
    EXPECT_EQ(exit_code_of(report, false), row.code);
    EXPECT_EQ(exit_code_of(report, true), row.strict);
    EXPECT_EQ(report.diagnosis.grade, row.grade);
  }
}

TEST(DoctorsReport, the_worst_comes_first_and_is_the_reason_and_the_verdict_last) {
  EXPECT_EQ(words_of(report_with({note, warning, danger}), false, false),
            "redis://cache Redis 7.0.15: class D, unsafe: it evicts\n"
            "\n"
            "danger   redis.eviction  it evicts; keys vanish\n"
            "         → noeviction\n"
            "warning  redis.appendonly  no append-only file: a restart forgets all\n"
            "         → turn it on\n"
            "note     redis.kind  it is a Redis\n"
            "\n"
            "1 danger, 1 warning: do not rely on leases here");
  EXPECT_THAT(words_of(report_with({warning}), false, false),
              HasSubstr("class C, best effort: no append-only file\n"));
  EXPECT_EQ(words_of(report_with({}), false, false),
            "redis://cache Redis 7.0.15: class B, durable\n\nall is well");
  EXPECT_THAT(words_of(report_with({warning}), true, false),
              HasSubstr("1 warning: not accepted with --strict"));
}

TEST(DoctorsReport, what_was_accepted_says_so_and_counts_all_the_same) {
  Finding accepted = danger;
  accepted.accepted = true;
  const Report report = report_with({accepted, warning});
  EXPECT_THAT(words_of(report, false, false), HasSubstr("danger   redis.eviction (accepted)  it evicts;"));
  EXPECT_THAT(words_of(report, false, false), HasSubstr("warning  redis.appendonly  no append-only"));
  EXPECT_EQ(exit_code_of(report, false), 77);
  EXPECT_EQ(nlohmann::json::parse(json_of(report, false)[0])["accepted"], true);
  EXPECT_EQ(nlohmann::json::parse(json_of(report, false)[1])["accepted"], false);
}

TEST(DoctorsReport, numbers_are_told_when_they_were_measured) {
  Report report = report_with({});
  report.round_trips = RoundTrips{.median = 200us, .p99 = 1400us};
  report.clock_rate = ClockRate{.drift_ppm = -3.2, .give_or_take_ppm = 40.1, .step = 0us};
  report.clock_offset = ClockOffset{.offset = 12ms, .width = 1ms};
  report.self_test = SelfTest{
      .grants = {reported_grant(0, 1, 0ms, 1ms)}, .threads = 8, .took = 1200ms, .failures = 0, .failure = ""};
  EXPECT_EQ(words_of(report, false, false),
            "redis://cache Redis 7.0.15: class B, durable\n"
            "\n"
            "round trip    median 0.2ms, p99 1.4ms: fast enough for a ttl of 30s (at least 514ms is needed)\n"
            "clock drift   -3 ppm relative to this host's, give or take 41 ppm\n"
            "clock offset  +12.0ms relative to this host's, give or take 0.5ms\n"
            "self-test     1 grants by 8 threads in 1.2s, 0 overlaps\n"
            "\n"
            "all is well");
}

TEST(DoctorsReport, the_round_trip_is_held_against_the_ttl_that_was_given) {
  Report report = report_with({});
  report.round_trips = RoundTrips{.median = 200us, .p99 = 1400us};
  report.ttl = 100ms;
  EXPECT_THAT(words_of(report, false, false),
              HasSubstr(": too slow for a ttl of 100ms (at least 514ms is needed)\n"));
  report.ttl = Millis(never);
  EXPECT_THAT(
      words_of(report, false, false),
      HasSubstr(": a lease without an end needs no renewal (otherwise a ttl of at least 514ms is needed)\n"));
}

TEST(DoctorsReport, a_drift_that_cannot_be_told_is_no_number) {
  Report report = report_with({});
  report.clock_rate = ClockRate{.drift_ppm = 900, .give_or_take_ppm = 1100, .step = 0us};
  EXPECT_THAT(words_of(report, false, false), HasSubstr("\nclock drift   unknown: "));
  EXPECT_TRUE(nlohmann::json::parse(json_of(report, false).back())["clock_drift_ppm"].is_null());
  report.clock_rate->give_or_take_ppm = 400;
  EXPECT_EQ(nlohmann::json::parse(json_of(report, false).back())["clock_drift_ppm"], 900);
}

TEST(DoctorsReport, what_the_self_test_saw_besides_overlaps_is_told) {
  Report report = report_with({});
  Grant vanished = reported_grant(1, 1, 0ms, 1ms);
  vanished.taken = true;
  report.self_test =
      SelfTest{.grants = {reported_grant(0, 2, 0ms, 1ms), reported_grant(0, 1, 2ms, 3ms), vanished},
               .threads = 8,
               .took = 1s,
               .failures = 3,
               .failure = "no"};
  EXPECT_THAT(words_of(report, false, false),
              HasSubstr(", 0 overlaps, 1 tokens that did not rise, 1 lost early, 3 failed\n"));
  const auto whole = nlohmann::json::parse(json_of(report, false).back());
  EXPECT_EQ(whole["falls"], 1);
  EXPECT_EQ(whole["vanished"], 1);
  EXPECT_EQ(whole["failures"], 3);
}

TEST(DoctorsReport, the_verdict_says_where_nothing_is_granted) {
  constexpr const char* nothing = "no lease is granted until this is fixed";
  Finding tables{Severity::warning, "postgres.tables", "the tables are missing", "holdfast init"};
  Finding full{Severity::danger, "sqlite.room", "the disk is full", "make room"};
  tables.blocks = full.blocks = true;
  const Finding nearly{Severity::warning, "sqlite.room", "the disk is nearly full", "make room"};
  EXPECT_THAT(words_of(report_with({tables}), false, false),
              EndsWith(std::string("\n1 warning: ") + nothing));
  EXPECT_THAT(words_of(report_with({tables}), true, false), EndsWith(nothing));
  EXPECT_THAT(words_of(report_with({full, warning}), false, false),
              EndsWith(std::string("\n1 danger, 1 warning: ") + nothing));
  EXPECT_THAT(words_of(report_with({nearly}), false, false), Not(HasSubstr(nothing)));
  const Error error{Errc::unavailable, "its memory is full"};
  EXPECT_THAT(words_of(report_with({unmeasured(error, true)}), false, false), EndsWith(nothing));
  EXPECT_THAT(words_of(report_with({unmeasured(error, false)}), false, false), Not(HasSubstr(nothing)));
}

TEST(DoctorsReport, a_refusal_has_that_verdict_too_unless_something_was_granted) {
  constexpr const char* nothing = "no lease is granted until this is fixed";
  const Finding of_jobs{Severity::note, "redis.rights-of-jobs", "no jobs can be kept", "grant"};
  EXPECT_THAT(words_of(report_with({of_jobs, warning}), false, false), Not(HasSubstr(nothing)));
  Report report = report_with({danger});
  report.add(refused(report, {Errc::refused, "it evicts"}));
  EXPECT_THAT(words_of(report, false, false), EndsWith(nothing)) << "the refusal is a note, and is one";
  report.self_test = SelfTest{
      .grants = {reported_grant(0, 1, 0ms, 1ms)}, .threads = 8, .took = 1s, .failures = 0, .failure = ""};
  EXPECT_THAT(words_of(report, false, false), Not(HasSubstr(nothing))) << "something was";
}

TEST(DoctorsReport, a_clock_that_told_no_time_is_told_so) {
  Report report = report_with({});
  report.clock_unknown = true;
  EXPECT_THAT(words_of(report, false, false), HasSubstr("\nclock drift   not measured: "));
}

TEST(DoctorsReport, a_refusal_says_whom_it_concerns_and_what_to_do) {
  const Error error{Errc::refused, "the user may not"};
  const Finding alone = refused(report_with({}), error), beside = refused(report_with({danger}), error);
  EXPECT_EQ(alone.severity, Severity::danger);
  EXPECT_EQ(beside.severity, Severity::note);
  EXPECT_EQ(alone.topic, "all.refused");
  EXPECT_THAT(alone.what, HasSubstr("the store refused a lease"));
  EXPECT_THAT(alone.what, HasSubstr("the user may not"));
  EXPECT_NE(alone.advice, "");
  EXPECT_NE(beside.advice, "");
}

TEST(DoctorsReport, json_has_a_line_per_finding_and_one_for_the_whole) {
  const auto lines = json_of(report_with({note, danger}), false);
  ASSERT_EQ(lines.size(), 3u);
  const auto first = nlohmann::json::parse(lines[0]);
  EXPECT_EQ(first["severity"], "danger");
  EXPECT_EQ(first["topic"], "redis.eviction");
  EXPECT_EQ(first["advice"], "noeviction");
  const auto whole = nlohmann::json::parse(lines[2]);
  EXPECT_EQ(whole["grade"], "D");
  EXPECT_EQ(whole["reason"], "it evicts");
  EXPECT_EQ(whole["exit"], 77);
  EXPECT_EQ(whole["dangers"], 1);
  EXPECT_TRUE(whole["grants"].is_null());
  EXPECT_TRUE(whole["clock_offset_us"].is_null());
}

TEST(DoctorsReport, what_a_store_says_cannot_steer_the_terminal) {
  const Report report = report_with({{Severity::danger, "redis.kind", "\033[2Jclean", "\033[0m"}});
  EXPECT_THAT(words_of(report, false, false), Not(HasSubstr("\033")));
}

// In JSON a quote is written as two letters: what is hidden must be hidden before.
TEST(DoctorsReport, holds_no_password_whatever_a_server_says) {
  hide_secret("hun\"ter2\x01");
  const Report report = report_with({{Severity::danger, "redis.kind", "cannot log in with hun\"ter2\x01: no",
                                      "take another one than hun\"ter2\x01"}});
  std::string all = words_of(report, false, false);
  for (const std::string& line : json_of(report, false)) all += line + "\n";
  EXPECT_THAT(all, Not(HasSubstr("ter2")));
  EXPECT_THAT(all, HasSubstr("cannot log in with ***"));
  EXPECT_THAT(all, HasSubstr("another one than ***"));
}

TEST(WithoutSecrets, no_part_of_a_password_is_left_where_another_begins_or_ends_it) {
  for (const char* const secret : {"swordfish", "swordfish-prod", "fish-prod-too", "e\x01\xff!"})
    hide_secret(secret);
  EXPECT_EQ(without_secrets("swordfish-prod"), "***");
  EXPECT_EQ(without_secrets("(swordfish)"), "(***)");
  EXPECT_EQ(without_secrets("swordfish-prod-too"), "***");
  EXPECT_EQ(without_secrets("swordfishswordfish, fish"), "***, fish");
  EXPECT_EQ(without_secrets("e\x01\xff! and e\\x01\\xff! as complain() is given it"),
            "*** and *** as complain() is given it");
}

}  // namespace
}  // namespace holdfast::cli
