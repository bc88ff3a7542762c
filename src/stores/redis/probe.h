// SPDX-License-Identifier: Apache-2.0
// probe.h - what a server says about itself, and whether leases can be kept there.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "stores/redis/config.h"

namespace holdfast::redis {

// The answer to INFO.
class ServerInfo {
 public:
  explicit ServerInfo(std::string_view info) : text_(info) {}
  // The value behind `name:`; empty: not there.
  std::string_view operator[](std::string_view name) const;
  // Zero: not there, or no number.
  std::uint64_t number(std::string_view name) const;

  bool is_sentinel() const { return (*this)["redis_mode"] == "sentinel"; }
  bool is_in_cluster() const { return number("cluster_enabled") == 1; }
  bool is_replica() const { return (*this)["role"] == "slave"; }
  bool evicts() const { return number("maxmemory") > 0 && (*this)["maxmemory_policy"] != "noeviction"; }

 private:
  std::string text_;
};

// Which program it is: Redis, or one of its relatives.
struct Kind {
  std::string name, version;
};
Kind kind_of(const ServerInfo& info);

// Why no lease may be kept there, in a sentence without a remedy.
inline constexpr const char* about_cluster = "the server is part of a Redis Cluster, which is not supported";
inline constexpr const char* about_sentinel = "the server is a Sentinel, which cannot store leases";
std::string about_eviction(const ServerInfo& info);
std::string about_replica(const ServerInfo& info);

// Errc::refused if no lease may be kept there.
Status check_server(const ServerInfo& info, const StoreConfig& config);

}  // namespace holdfast::redis
