// SPDX-License-Identifier: Apache-2.0
#include "stores/redis/probe.h"

#include <algorithm>
#include <charconv>

#include "base/text.h"

namespace holdfast::redis {

std::string_view ServerInfo::operator[](std::string_view name) const {
  std::string_view rest = text_;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find("\r\n"), rest.size());
    const std::string_view line = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 2, rest.size()));
    if (line.size() > name.size() && line.starts_with(name) && line[name.size()] == ':')
      return line.substr(name.size() + 1);
  }
  return {};
}

std::uint64_t ServerInfo::number(std::string_view name) const {
  const std::string_view digits = (*this)[name];
  std::uint64_t value = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), value);
  return value;
}

// Each of them also has a redis_version, the one that it is like.
Kind kind_of(const ServerInfo& info) {
  const auto text = [&](std::string_view name) { return std::string(info[name]); };
  if (!info["valkey_version"].empty()) return {"Valkey", text("valkey_version")};
  if (!info["dragonfly_version"].empty()) return {"Dragonfly", text("dragonfly_version")};
  if (!info["mvcc_depth"].empty()) return {"KeyDB", text("redis_version")};
  return {"Redis", text("redis_version")};
}

std::string about_eviction(const ServerInfo& info) {
  return "the server evicts keys, leases too, when its memory is full (maxmemory-policy " +
         printable(info["maxmemory_policy"]) + ")";
}

std::string about_replica(const ServerInfo& info) {
  return "the server is a replica of " + printable(info["master_host"]) + ":" +
         printable(info["master_port"]);
}

Status check_server(const ServerInfo& info, const StoreConfig& config) {
  const auto refused = [&](const std::string& why) {
    return Error{Errc::refused, printable(config.place) + ": " + why};
  };
  if (info.is_sentinel())
    return refused(std::string(about_sentinel) + "; use the URL of the server that it monitors");
  if (info.is_in_cluster())
    return refused(std::string(about_cluster) + "; use a server that is not in a Cluster");
  if (info.is_replica()) return refused(about_replica(info) + "; use the URL of the primary");
  if (info.evicts() && !config.accepted().covers("redis.eviction"))
    return refused(about_eviction(info) +
                   ", so two owners could hold one key; set maxmemory-policy noeviction, keep leases on a "
                   "server of their own, or add accept=redis.eviction to the URL at your own risk");
  return Status{};
}

}  // namespace holdfast::redis
