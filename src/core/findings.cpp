// SPDX-License-Identifier: Apache-2.0
#include "core/findings.h"

#include <algorithm>

namespace holdfast {

Grade grade_of(Grade best, std::span<const Finding> findings) noexcept {
  Grade grade = best;
  for (const Finding& finding : findings) {
    if (finding.severity == Severity::warning) grade = std::max(grade, Grade::C);
    if (finding.severity == Severity::danger) grade = Grade::D;
  }
  return grade;
}

namespace core {
namespace {

bool reads_like(std::string_view topic, std::string_view known) {
  return topic.starts_with(known.substr(0, known.find('.') + 1)) &&
         topic.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789.-") == std::string_view::npos;
}

}  // namespace

bool Accepted::covers(std::string_view topic) const {
  return all || std::find(topics.begin(), topics.end(), topic) != topics.end();
}

void mark_accepted(std::span<Finding> findings, const Accepted& accepted) {
  const Accepted by_topic{.topics = accepted.topics};
  for (Finding& finding : findings) {
    finding.accepted = by_topic.covers(finding.topic);
    finding.at_open = finding.at_open && !accepted.covers(finding.topic);
  }
}

std::vector<std::string> topics_in(std::string_view list) {
  std::vector<std::string> topics;
  while (true) {
    const std::string_view one = list.substr(0, list.find(','));
    topics.emplace_back(one);
    if (one.size() == list.size()) return topics;
    list.remove_prefix(one.size() + 1);
  }
}

Status check_topics(std::span<const std::string> topics, std::span<const std::string_view> known) {
  for (const std::string& topic : topics) {
    if (std::find(known.begin(), known.end(), topic) != known.end()) continue;
    if (known.empty()) return Error{Errc::invalid, "accept= means nothing here: this store has no findings"};
    std::string list;
    for (const std::string_view one : known) list += (list.empty() ? "" : ", ") + std::string(one);
    return Error{Errc::invalid, "accept=" + (reads_like(topic, known.front()) ? topic : "***") +
                                    " is not a topic of this store's findings; write one of " + list};
  }
  return Status{};
}

}  // namespace core

}  // namespace holdfast
