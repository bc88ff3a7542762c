// SPDX-License-Identifier: Apache-2.0
// report.h - what the doctor found, in words and in JSON.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "cli/doctor/measurements.h"
#include "cli/doctor/self_test.h"
#include "holdfast/result.h"
#include "holdfast/rows.h"

namespace holdfast::cli {

// What was not measured is not there.
struct Report {
  std::string store;    // without secrets
  Diagnosis diagnosis;  // with the findings that are the same for every store
  std::optional<RoundTrips> round_trips = {};
  Millis ttl{30'000};  // that they were judged by
  std::optional<ClockRate> clock_rate = {};
  bool clock_unknown = false;  // the server gave no time
  std::optional<ClockOffset> clock_offset = {};
  std::optional<SelfTest> self_test = {};

  void add(std::optional<Finding> finding) {
    if (finding) diagnosis.findings.push_back(*std::move(finding));
  }
};

// What is to be thought of a measurement that the store refused ...
Finding refused(const Report& report, const Error& error);
// ... or that failed, and again (`still`).
Finding unmeasured(const Error& error, bool still);

// The heaviest first, none with a password in it, and the class that all of them together leave.
void settle(Report& report);

// REQUIRES, of all below: settle() has been called.

// 0: notes at most.  1: warnings.  77: a danger, or `strict` and a warning.
int exit_code_of(const Report& report, bool strict) noexcept;

// Lines without the last newline.
std::string words_of(const Report& report, bool strict, bool colour);
// An object per finding, then one for the whole.
std::vector<std::string> json_of(const Report& report, bool strict);

}  // namespace holdfast::cli
