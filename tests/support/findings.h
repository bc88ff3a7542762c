// SPDX-License-Identifier: Apache-2.0
// findings.h - the findings about a store, as sentences.
#pragma once
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "holdfast/rows.h"

namespace holdfast::test {

// What was found, of Traits or of a Diagnosis.
template <class Examined>
std::vector<std::string> found(const Examined& examined) {
  std::vector<std::string> sentences;
  for (const Finding& finding : examined.findings) sentences.push_back(finding.what);
  return sentences;
}

// Of these, the findings that are reported to every client.
inline std::vector<std::string> told(const Traits& traits) {
  std::vector<std::string> sentences;
  for (const Finding& finding : traits.findings) {
    if (finding.at_open) sentences.push_back(finding.what);
  }
  return sentences;
}

// "danger postgres.fsync", one for each.
inline std::vector<std::string> topics_of(const std::vector<Finding>& findings) {
  std::vector<std::string> topics;
  for (const Finding& finding : findings)
    topics.push_back(to_string(finding.severity) + (" " + finding.topic));
  return topics;
}

// The topics of those with which no lease is granted.
inline std::vector<std::string> blocking_topics_of(const std::vector<Finding>& findings) {
  std::vector<std::string> topics;
  for (const Finding& finding : findings) {
    if (finding.blocks) topics.push_back(finding.topic);
  }
  return topics;
}

// The finding about `topic`, or null.
template <class Examined>
const Finding* about(const Examined& examined, std::string_view topic) {
  for (const Finding& finding : examined.findings) {
    if (finding.topic == topic) return &finding;
  }
  return nullptr;
}

// What was found about it; nothing: an empty one.
inline Finding the(const Diagnosis& diagnosis, std::string_view topic) {
  const Finding* const finding = about(diagnosis, topic);
  return finding == nullptr ? Finding{} : *finding;
}

// The finding exists, has this severity, and has advice.
inline ::testing::AssertionResult has(const Diagnosis& diagnosis, std::string_view topic, Severity severity) {
  const Finding* const finding = about(diagnosis, topic);
  if (finding == nullptr) return ::testing::AssertionFailure() << "nothing was found about " << topic;
  if (finding->severity != severity)
    return ::testing::AssertionFailure() << "it is a " << to_string(finding->severity);
  if (finding->what.empty() || finding->advice.empty())
    return ::testing::AssertionFailure() << "it says nothing, or not what to change";
  return ::testing::AssertionSuccess();
}

}  // namespace holdfast::test
