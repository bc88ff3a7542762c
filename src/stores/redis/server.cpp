// SPDX-License-Identifier: Apache-2.0
#include "stores/redis/server.h"

#include "base/text.h"
#include "core/findings.h"
#include "stores/redis/findings.h"

namespace holdfast::redis {

Status check_server(const ServerInfo& info, const StoreConfig& config) {
  const std::string begin = printable(config.place) + ": ";
  if (info["redis_mode"] == "sentinel")
    return Error{Errc::refused, begin + about_sentinel + "; use the URL of the server that it monitors"};
  if (info.number("cluster_enabled") == 1)
    return Error{Errc::refused, begin + about_cluster + "; use a server that is not in a Cluster"};
  if (info["role"] == "slave")
    return Error{Errc::refused, begin + about_replica(info) + "; use the URL of the primary"};
  if (evicts(info) && !config.accepted().covers("redis.eviction"))
    return Error{Errc::refused,
                 begin + about_eviction(info) +
                     ", so two owners could hold one key; set maxmemory-policy noeviction, keep leases on a "
                     "server of their own, or add accept=redis.eviction to the URL at your own risk"};
  return Status{};
}

Traits traits_of(const ServerInfo& info, const StoreConfig& config) {
  Traits traits{.name = "redis",
                .resolution = Millis(1),
                .push = true,
                .fair = true,
                .tidies = true,
                .grade = Grade::C};
  traits.findings = findings_of(info, config);
  traits.grade = core::grade_of(Grade::C, traits.findings);
  return traits;
}

}  // namespace holdfast::redis
