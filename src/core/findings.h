// SPDX-License-Identifier: Apache-2.0
// findings.h - what a store finds wrong with itself, the class that follows, and what its user accepts.
#pragma once
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "holdfast/clock.h"
#include "holdfast/result.h"
#include "holdfast/rows.h"
#include "holdfast/spi/descriptor.h"

namespace holdfast::core {

// Collects findings while a store is examined.
class FindingList {
 public:
  void note(const char* topic, std::string what, std::string advice) {
    add(Severity::note, topic, std::move(what), std::move(advice));
  }
  void warn(const char* topic, std::string what, std::string advice) {
    add(Severity::warning, topic, std::move(what), std::move(advice));
  }
  void danger(const char* topic, std::string what, std::string advice) {
    add(Severity::danger, topic, std::move(what), std::move(advice));
  }

  // Every client that opens the store reports the last finding.  REQUIRES: there is one.
  void report_at_open() { findings_.back().at_open = true; }
  void report_all_at_open() {
    for (Finding& finding : findings_) finding.at_open = true;
  }

  std::vector<Finding> take() { return std::move(findings_); }

 private:
  void add(Severity severity, const char* topic, std::string what, std::string advice) {
    findings_.push_back({severity, topic, std::move(what), std::move(advice)});
  }
  std::vector<Finding> findings_;
};

// The class of a store, A to D: how far its leases can be trusted.  `best` is its class without findings.  A
// warning makes it C or worse, a danger D.
Grade grade_of(Grade best, std::span<const Finding> findings) noexcept;

// The findings that the user knows of and accepts.
struct Accepted {
  bool all = false;                      // unsafe=allow
  std::vector<std::string> topics = {};  // accept=STORE.WHAT: these findings, and no others

  bool covers(std::string_view topic) const;
};

// Marks the findings that are accepted.  Clients do not report them when they open the store.
void mark_accepted(std::span<Finding> findings, const Accepted& accepted);

// Splits "STORE.ONE,STORE.OTHER".
std::vector<std::string> topics_in(std::string_view list);

// Errc::invalid if one of `topics` is not `known`; the error lists the known ones.  It quotes the wrong topic
// only if that has the form of one: in a malformed URL it may be a part of the password.
Status check_topics(std::span<const std::string> topics, std::span<const FindingTopic> known);

// A diagnosis repeats a question, to be sure of the answer, only until then: a third of the time from `now`
// until `until`.  So a distant store is asked less often, and the rest of the time is for the other
// questions.
inline Instant repeat_until(Instant now, Instant until) { return now + (until - now) / 3; }

}  // namespace holdfast::core
