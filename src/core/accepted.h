// SPDX-License-Identifier: Apache-2.0
// accepted.h - what the user of a store knows about it and accepts.
#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "holdfast/result.h"
#include "holdfast/rows.h"

namespace holdfast::core {

struct Accepted {
  bool all = false;                      // unsafe=allow
  std::vector<std::string> topics = {};  // accept=redis.appendonly: these findings, and no others

  bool covers(std::string_view topic) const;
};

// What is accepted is not told to every client.
void hush(std::span<Finding> findings, const Accepted& accepted);

// "redis.appendonly,redis.tls".
std::vector<std::string> topics_in(std::string_view list);

// Errc::invalid for one that is none of `known`; the error names those that are.  The wrong one is repeated
// only if it reads like them: in a URL that is written wrongly it may be a part of the password.
Status check_topics(std::span<const std::string> topics, std::span<const std::string_view> known);

}  // namespace holdfast::core
