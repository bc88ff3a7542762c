// SPDX-License-Identifier: Apache-2.0
// naming.h - what the keys are called.  docs/stores/redis.md tells what lies in them.
#pragma once
#include <string>
#include <string_view>

namespace holdfast::redis {

// Names that lie in the slot of `lease`, for the day this works on a Cluster: what stands between the first {
// and the next } decides the slot, so a lease that has such a tag keeps it, and one that has none becomes it.
// No two leases share a name: behind the word stands { for the ones and = for the others.
struct Companion {
  std::string_view before, after;  // of the lease's own name
};

enum class Beside { facts, queue, places };

Companion companion(Beside what, std::string_view lease) noexcept;

// The slot of `lease` is decided by a part of it.
bool has_tag(std::string_view lease) noexcept;

// Names that all leases of a prefix share.
class Naming {
 public:
  explicit Naming(std::string prefix);

  const std::string& prefix() const noexcept { return prefix_; }
  const std::string& kept() const noexcept { return kept_; }
  const std::string& index() const noexcept { return index_; }  // the keys that we remember
  const std::string& held() const noexcept { return held_; }    // those of them that are not given back
  const std::string& purged() const noexcept { return purged_; }
  const std::string& log() const noexcept { return log_; }
  // With this all names begin that belong to jobs.
  const std::string& jobs() const noexcept { return jobs_; }

  // Ours, so that nobody's lease can lie there.
  bool reserved(std::string_view key) const noexcept;

 private:
  std::string prefix_, kept_, index_, held_, purged_, log_, jobs_;
};

}  // namespace holdfast::redis
