// SPDX-License-Identifier: Apache-2.0
#include "cli/doctor/report.h"

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "base/time.h"
#include "cli/exit_code.h"
#include "cli/json.h"
#include "cli/output.h"
#include "holdfast/spi/descriptor.h"

namespace holdfast::cli {
namespace {

std::size_t count(const Report& report, Severity severity) {
  const auto& all = report.diagnosis.findings;
  return static_cast<std::size_t>(
      std::count_if(all.begin(), all.end(), [&](const Finding& f) { return f.severity == severity; }));
}

std::string class_words(Grade grade) {
  switch (grade) {
    case Grade::A: return "class A, consensus";
    case Grade::B: return "class B, durable";
    case Grade::C: return "class C, best effort";
    case Grade::D: break;
  }
  return "class D, unsafe";
}

// What comes first in the worst finding, before what can come of it.
std::string reason_of(const Report& report) {
  const auto& all = report.diagnosis.findings;
  if (all.empty() || all.front().severity == Severity::note) return "";
  const std::string& what = all.front().what;
  std::size_t end = what.size();
  for (const char* const mark : {": ", "; ", ", "}) end = std::min(end, what.find(mark));
  return what.substr(0, end);
}

std::string first_line(const Report& report) {
  const std::string reason = reason_of(report);
  const std::string& server = report.diagnosis.server;
  return printable(report.store) + (server.empty() ? "" : " " + printable(server)) + ": " +
         class_words(report.diagnosis.grade) + (reason.empty() ? "" : ": " + printable(reason));
}

std::string coloured(Severity severity, bool colour) {
  const std::string word = to_string(severity);
  if (!colour || severity == Severity::note) return word;
  return (severity == Severity::danger ? "\033[1;31m" : "\033[1;33m") + word + "\033[0m";
}

std::string finding_words(const Finding& finding, bool colour) {
  constexpr std::size_t widest = 7;  // "warning"
  const std::string word = to_string(finding.severity);
  std::string text = coloured(finding.severity, colour) + std::string(widest - word.size() + 2, ' ') +
                     finding.topic + (finding.accepted ? " (accepted)" : "") + "  " + printable(finding.what);
  if (!finding.advice.empty()) text += "\n" + std::string(widest + 2, ' ') + "→ " + printable(finding.advice);
  return text;
}

std::string rate_words(const ClockRate& rate) {
  if (!rate.is_meaningful())
    return "unknown: within the two seconds of measuring, answers were too slow or the clock was set";
  const long ppm = std::lround(rate.drift_ppm);
  return (ppm >= 0 ? "+" : "") + std::to_string(ppm) + " ppm relative to this host's, give or take " +
         std::to_string(std::lround(std::ceil(rate.give_or_take_ppm))) + " ppm";
}

std::string offset_words(const ClockOffset& offset) {
  return std::string(offset.offset < Micros::zero() ? "-" : "+") +
         in_millis(std::chrono::abs(offset.offset)) + " relative to this host's, give or take " +
         in_millis(offset.width / 2);
}

std::string also(std::size_t number, const char* what) {
  return number == 0 ? "" : ", " + std::to_string(number) + " " + what;
}

std::string test_words(const SelfTest& test) {
  const Faults faults = faults_in(test.grants);
  return std::to_string(test.grants.size()) + " grants by " + std::to_string(test.threads) + " threads in " +
         format_duration(test.took) + ", " + std::to_string(faults.overlaps) + " overlaps" +
         also(faults.falls, "tokens that did not rise") + also(faults.taken, "lost early") +
         also(test.failures, "failed");
}

std::string ttl_words(Millis ttl, Millis least) {
  const std::string needed = "at least " + format_duration(least) + " is needed";
  if (ttl == never) return "a lease without an end needs no renewal (otherwise a ttl of " + needed + ")";
  return (ttl >= least ? "fast enough for a ttl of " : "too slow for a ttl of ") + format_duration(ttl) +
         " (" + needed + ")";
}

std::string numbers(const Report& report) {
  std::string text;
  if (const auto& trips = report.round_trips) {
    text += "round trip    median " + in_millis(trips->median) + ", p99 " + in_millis(trips->p99) + ": " +
            ttl_words(report.ttl, least_ttl(*trips)) + "\n";
  }
  if (report.clock_rate) text += "clock drift   " + rate_words(*report.clock_rate) + "\n";
  if (report.clock_unknown)
    text +=
        "clock drift   not measured: this store reports its time only for a key that exists, and --quick "
        "creates none\n";
  if (report.clock_offset) text += "clock offset  " + offset_words(*report.clock_offset) + "\n";
  if (report.self_test) text += "self-test     " + test_words(*report.self_test) + "\n";
  return text.empty() ? text : text + "\n";
}

std::string how_many(std::size_t number, const char* of) {
  return number == 0 ? "" : std::to_string(number) + " " + of + (number == 1 ? "" : "s");
}

std::string consequence(const Report& report, bool strict) {
  const auto& all = report.diagnosis.findings;
  const bool granted = report.self_test && !report.self_test->grants.empty();  // whatever was thought of it
  if (!granted && std::any_of(all.begin(), all.end(), [](const Finding& finding) { return finding.blocks; }))
    return ": no lease is granted until this is fixed";
  if (count(report, Severity::danger) > 0) return ": do not rely on leases here";
  return strict ? ": not accepted with --strict" : ": leases are safe unless something else fails too";
}

std::string verdict(const Report& report, bool strict) {
  const std::string dangers = how_many(count(report, Severity::danger), "danger");
  const std::string warnings = how_many(count(report, Severity::warning), "warning");
  if (dangers.empty() && warnings.empty()) return "all is well";
  return dangers + (dangers.empty() || warnings.empty() ? "" : ", ") + warnings + consequence(report, strict);
}

template <class Value>
Json or_null(const std::optional<Value>& value, auto field) {
  return value ? Json(field(*value)) : Json();
}

}  // namespace

// If something dangerous was found, that is why.
Finding refused(const Report& report, const Error& error) {
  const bool known = count(report, Severity::danger) > 0;
  return {
      .severity = known ? Severity::note : Severity::danger,
      .topic = "all.refused",
      .what = "the store refused a lease, so not everything was measured: " + error.detail,
      .advice = known ? "fix the dangers first" : "fix what the store reports, or give another user or store",
      .blocks = true};
}

Finding unmeasured(const Error& error, bool still) {
  return {.severity = still ? Severity::danger : Severity::warning,
          .topic = "all.unmeasured",
          .what = (still ? "the store answers but grants no lease, so not everything was measured: "
                         : "a request failed, and then succeeded, so not everything was measured: ") +
                  error.detail,
          .advice = still ? "fix what the store reports, and run doctor again" : "run doctor again",
          .blocks = still};
}

void settle(Report& report) {
  auto& all = report.diagnosis.findings;
  for (std::string* const text : {&report.store, &report.diagnosis.server}) *text = without_secrets(*text);
  for (Finding& finding : all) {
    finding.what = without_secrets(finding.what);
    finding.advice = without_secrets(finding.advice);
  }
  std::stable_sort(all.begin(), all.end(),
                   [](const Finding& a, const Finding& b) { return a.severity > b.severity; });
  report.diagnosis.grade = grade_of(report.diagnosis.grade, all);
}

int exit_code_of(const Report& report, bool strict) noexcept {
  if (count(report, Severity::danger) > 0) return exit_refused;
  if (count(report, Severity::warning) > 0) return strict ? exit_refused : exit_no;
  return exit_ok;
}

std::string words_of(const Report& report, bool strict, bool colour) {
  std::string text = first_line(report) + "\n\n";
  for (const Finding& finding : report.diagnosis.findings) text += finding_words(finding, colour) + "\n";
  if (!report.diagnosis.findings.empty()) text += "\n";
  return text + numbers(report) + verdict(report, strict);
}

std::vector<std::string> json_of(const Report& report, bool strict) {
  std::vector<std::string> lines;
  for (const Finding& finding : report.diagnosis.findings) {
    lines.push_back(line_of({{"severity", to_string(finding.severity)},
                             {"topic", finding.topic},
                             {"what", finding.what},
                             {"advice", finding.advice},
                             {"accepted", finding.accepted}}));
  }
  const auto& test = report.self_test;
  const auto faults = test ? faults_in(test->grants) : Faults{};
  Json whole = {{"store", report.store},
                {"server", report.diagnosis.server},
                {"grade", to_string(report.diagnosis.grade)},
                {"reason", reason_of(report)},
                {"exit", exit_code_of(report, strict)},
                {"dangers", count(report, Severity::danger)},
                {"warnings", count(report, Severity::warning)},
                {"notes", count(report, Severity::note)}};
  whole["round_trip_median_us"] = or_null(report.round_trips, [](auto& t) { return t.median.count(); });
  whole["round_trip_p99_us"] = or_null(report.round_trips, [](auto& t) { return t.p99.count(); });
  whole["clock_drift_ppm"] = or_null(report.clock_rate, [](auto& rate) {
    return rate.is_meaningful() ? Json(std::lround(rate.drift_ppm)) : Json();
  });
  whole["clock_offset_us"] = or_null(report.clock_offset, [](auto& o) { return o.offset.count(); });
  whole["grants"] = or_null(test, [](auto& t) { return t.grants.size(); });
  whole["threads"] = or_null(test, [](auto& t) { return t.threads; });
  whole["took_ms"] = or_null(test, [](auto& t) { return t.took.count(); });
  whole["overlaps"] = or_null(test, [&](auto&) { return faults.overlaps; });
  whole["falls"] = or_null(test, [&](auto&) { return faults.falls; });
  whole["vanished"] = or_null(test, [&](auto&) { return faults.taken; });
  whole["failures"] = or_null(test, [](auto& t) { return t.failures; });
  lines.push_back(line_of(whole));
  return lines;
}

}  // namespace holdfast::cli
