// SPDX-License-Identifier: Apache-2.0
// findings.h - rules that find what is wrong with a store, the class that follows, and what its user accepts.
#pragma once
#include <algorithm>
#include <concepts>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "holdfast/clock.h"
#include "holdfast/result.h"
#include "holdfast/rows.h"

namespace holdfast::core {

// A sentence of a rule: always the same, or made of the facts.
template <class Facts>
class RuleText {
 public:
  constexpr RuleText(const char* text) noexcept : text_(text) {}
  template <std::convertible_to<std::string (*)(const Facts&)> Make>
  constexpr RuleText(Make make) noexcept : make_(make) {}

  std::string of(const Facts& facts) const { return make_ == nullptr ? text_ : make_(facts); }

 private:
  const char* text_ = "";
  std::string (*make_)(const Facts&) = nullptr;
};

// One thing that can be wrong with a store, as data.  `Facts` is what a store has read about its server, its
// file or its configuration; a store has a table of rules for each kind of facts.
template <class Facts>
struct FindingRule {
  const char* topic;  // STORE.WHAT
  Severity severity;
  bool (*applies)(const Facts& facts);
  RuleText<Facts> what;    // the fact and its consequence
  RuleText<Facts> advice;  // what to change
  bool at_open = false;    // every client that opens the store reports it
  bool blocks = false;     // no lease is granted while this is so
};

// The findings of all rules that apply, in the order of the table, behind those in `found`.
template <class Facts, std::size_t N>
void judge(const FindingRule<Facts> (&rules)[N], const std::type_identity_t<Facts>& facts,
           std::vector<Finding>& found) {
  for (const FindingRule<Facts>& rule : rules) {
    if (rule.applies(facts))
      found.push_back({.severity = rule.severity,
                       .topic = rule.topic,
                       .what = rule.what.of(facts),
                       .advice = rule.advice.of(facts),
                       .at_open = rule.at_open,
                       .blocks = rule.blocks});
  }
}
template <class Facts, std::size_t N>
std::vector<Finding> judged(const FindingRule<Facts> (&rules)[N], const std::type_identity_t<Facts>& facts) {
  std::vector<Finding> found;
  judge(rules, facts, found);
  return found;
}

// Every topic of these tables of rules once, in alphabetical order.
template <class... Rules>
std::vector<std::string_view> topics_of(const Rules&... tables) {
  std::vector<std::string_view> topics;
  const auto add = [&](const auto& rules) {
    for (const auto& rule : rules) topics.emplace_back(rule.topic);
  };
  (add(tables), ...);
  std::sort(topics.begin(), topics.end());
  topics.erase(std::unique(topics.begin(), topics.end()), topics.end());
  return topics;
}

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
Status check_topics(std::span<const std::string> topics, std::span<const std::string_view> known);

// A diagnosis repeats a question, to be sure of the answer, only until then: a third of the time from `now`
// until `until`.  So a distant store is asked less often, and the rest of the time is for the other
// questions.
inline Instant repeat_until(Instant now, Instant until) { return now + (until - now) / 3; }

}  // namespace holdfast::core
