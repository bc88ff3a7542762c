// SPDX-License-Identifier: Apache-2.0
// keys.h - the names of all keys.  docs/stores/redis.md says what they contain.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "stores/redis/protocol.h"

namespace holdfast::redis {

inline constexpr std::string_view our_prefix = "holdfast:";

// The keys beside a lease.
enum class Beside : std::uint8_t { facts, queue, places };

// They are in the Cluster slot of the lease, for the day this works on a Cluster: the text between the first
// { and the next } decides the slot, so a lease that has such a tag keeps it, and one that has none becomes
// it.  No two leases share a name: behind the word is { for the ones and = for the others.
struct Companion {
  std::string_view before, after;  // of the lease's own name
};

inline Companion companion(Beside what, std::string_view lease) noexcept {
  static constexpr Companion tagged[] = {
      {"holdfast:facts:=", ""}, {"holdfast:queue:=", ""}, {"holdfast:places:=", ""}};
  static constexpr Companion untagged[] = {
      {"holdfast:facts:{", "}"}, {"holdfast:queue:{", "}"}, {"holdfast:places:{", "}"}};
  const std::size_t open = lease.find('{');
  const std::size_t close = open == std::string_view::npos ? open : lease.find('}', open + 1);
  const bool has_tag = close != std::string_view::npos && close > open + 1;
  return (has_tag ? tagged : untagged)[static_cast<std::size_t>(what)];
}

// The names that all leases of a prefix share.
struct Naming {
  explicit Naming(const std::string& its_prefix) : prefix(its_prefix) {}

  // Ours, so that nobody's lease can be there.
  bool reserved(std::string_view key) const noexcept {
    if (prefix.size() >= our_prefix.size()) return prefix.starts_with(our_prefix);
    return our_prefix.starts_with(prefix) && key.starts_with(our_prefix.substr(prefix.size()));
  }

  const std::string prefix;
  const std::string kept = named("kept"), purged = named("purged"), log = named("log");
  const std::string index = named("index");      // the keys that we remember
  const std::string held = named("held");        // those of them that are not given back
  const std::string version = named("version");  // the oldest version of all these that a Holdfast must know
  // All names of jobs begin so.  Words and texts of others follow: its length says where the prefix ends.
  const std::string jobs = prefix.empty()
                               ? "holdfast:jobs:"
                               : "holdfast:jobs:=" + std::to_string(prefix.size()) + ":" + prefix + ":";

 private:
  std::string named(const char* word) const {
    return std::string(our_prefix) + word + (prefix.empty() ? "" : ":" + prefix);
  }
};

// Writes the names of a lease and of what is beside it.
class LeaseNames {
 public:
  LeaseNames(const Naming& naming, std::string_view key)
      : with_prefix_(naming.prefix.empty() ? "" : naming.prefix + std::string(key)),
        lease_(naming.prefix.empty() ? key : std::string_view(with_prefix_)) {}
  LeaseNames(const LeaseNames&) = delete;
  LeaseNames& operator=(const LeaseNames&) = delete;

  const LeaseNames& add_lease(Command& command) const {
    command.word(lease_);
    return *this;
  }
  const LeaseNames& add(Command& command, Beside what) const {
    const Companion around = companion(what, lease_);
    command.word(around.before, lease_, around.after);
    return *this;
  }
  void add_all(Command& command) const {
    add_lease(command).add(command, Beside::facts).add(command, Beside::queue).add(command, Beside::places);
  }
  std::string text(Beside what) const {
    const Companion around = companion(what, lease_);
    return std::string(around.before).append(lease_).append(around.after);
  }

 private:
  const std::string with_prefix_;  // empty: there is no prefix
  const std::string_view lease_;
};

}  // namespace holdfast::redis
