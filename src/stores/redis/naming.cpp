// SPDX-License-Identifier: Apache-2.0
#include "stores/redis/naming.h"

#include <algorithm>

namespace holdfast::redis {
namespace {

constexpr std::string_view ours = "holdfast:";

std::string named(std::string_view word, const std::string& prefix) {
  return std::string(ours) + std::string(word) + (prefix.empty() ? "" : ":" + prefix);
}

// Behind it stand words and the texts of others, so it must be told where the prefix ends.
std::string jobs_below(const std::string& prefix) {
  const std::string begin = std::string(ours) + "jobs:";
  return prefix.empty() ? begin : begin + "=" + std::to_string(prefix.size()) + ":" + prefix + ":";
}

}  // namespace

bool has_tag(std::string_view lease) noexcept {
  const std::size_t open = lease.find('{');
  if (open == std::string_view::npos) return false;
  const std::size_t close = lease.find('}', open + 1);
  return close != std::string_view::npos && close > open + 1;
}

Companion companion(Beside what, std::string_view lease) noexcept {
  const bool tagged = has_tag(lease);
  switch (what) {
    case Beside::facts:
      return tagged ? Companion{"holdfast:facts:=", ""} : Companion{"holdfast:facts:{", "}"};
    case Beside::queue:
      return tagged ? Companion{"holdfast:queue:=", ""} : Companion{"holdfast:queue:{", "}"};
    case Beside::places:
      return tagged ? Companion{"holdfast:places:=", ""} : Companion{"holdfast:places:{", "}"};
  }
  return {};
}

Naming::Naming(std::string prefix)
    : prefix_(std::move(prefix)),
      kept_(named("kept", prefix_)),
      index_(named("index", prefix_)),
      held_(named("held", prefix_)),
      purged_(named("purged", prefix_)),
      log_(named("log", prefix_)),
      jobs_(jobs_below(prefix_)) {}

bool Naming::reserved(std::string_view key) const noexcept {
  if (prefix_.size() >= ours.size()) return prefix_.starts_with(ours);
  return ours.starts_with(prefix_) && key.starts_with(ours.substr(prefix_.size()));
}

}  // namespace holdfast::redis
