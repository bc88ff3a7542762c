// SPDX-License-Identifier: Apache-2.0
#include "stores/redis/findings.h"

#include "base/text.h"
#include "core/grade.h"

namespace holdfast::redis {
namespace {

void judge_server(const ServerInfo& info, std::vector<Finding>& found) {
  if (info["redis_mode"] == "sentinel")
    found.push_back(
        {Weight::danger, "redis.sentinel", about_sentinel, "name the server that it watches over", true});
  if (info.number("cluster_enabled") == 1)
    found.push_back({Weight::danger, "redis.cluster", about_cluster, "use a server of its own", true});
  if (info["role"] == "slave")
    found.push_back({Weight::danger, "redis.replica", about_replica(info), "name the primary", true});
  if (const std::uint64_t replicas = info.number("connected_slaves"); replicas > 0)
    found.push_back({Weight::warning, "redis.replicas",
                     "the server has " + std::to_string(replicas) +
                         (replicas == 1 ? " replica" : " replicas") +
                         ": one that takes over may not know the last grants, and two could hold one key",
                     "give leases a server without replicas, or fence what they protect", true});
}

void judge_memory(const ServerInfo& info, std::vector<Finding>& found) {
  if (evicts(info))
    found.push_back({Weight::danger, "redis.eviction", about_eviction(info),
                     "set maxmemory-policy noeviction, or give leases a server of their own", true});
  const std::uint64_t most = info.number("maxmemory"), used = info.number("used_memory");
  if (most > 0 && used > most / 10 * 9)
    found.push_back({Weight::warning, "redis.memory",
                     "the server's memory is nearly full (" + std::to_string(used) + " of " +
                         std::to_string(most) + " bytes): then nothing is granted any more",
                     "raise maxmemory"});
  if (const std::uint64_t evicted = info.number("evicted_keys"); evicted > 0)
    found.push_back({Weight::warning, "redis.evicted",
                     "the server has thrown away " + std::to_string(evicted) + " keys since it was started",
                     "set maxmemory-policy noeviction"});
}

void judge_disk(const ServerInfo& info, std::vector<Finding>& found) {
  if (info["aof_enabled"] == "0")
    found.push_back(
        {Weight::warning, "redis.appendonly",
         "the server keeps no append-only file (appendonly no): a restart forgets the leases that are held",
         "set appendonly yes", true});
  if (info["aof_last_write_status"] == "err")
    found.push_back(
        {Weight::danger, "redis.append-errors",
         "the server could not write its append-only file: a restart forgets the leases that are held",
         "look at its log and its disk", true});
  if (info["aof_last_bgrewrite_status"] == "err")
    found.push_back({Weight::danger, "redis.rewrite-errors",
                     "the server could not write its append-only file anew (BGREWRITEAOF): it grows until "
                     "the disk is full, and then nothing is kept",
                     "look at its log, its disk and its memory"});
}

void judge_way(const StoreConfig& config, std::vector<Finding>& found) {
  if (config.options.tls || config.local()) return;
  const bool secret = !config.options.password.empty();
  found.push_back({Weight::warning, "redis.tls",
                   secret ? "the password travels in the clear to " + printable(config.options.host) +
                                "; rediss:// hides it"
                          : "everything travels in the clear to " + printable(config.options.host) +
                                ", and whoever is on the way can change it",
                   "give rediss://", secret});
}

}  // namespace

bool evicts(const ServerInfo& info) {
  return info.number("maxmemory") > 0 && info["maxmemory_policy"] != "noeviction";
}

std::string about_eviction(const ServerInfo& info) {
  return "the server throws keys away when its memory is full (maxmemory-policy " +
         printable(info["maxmemory_policy"]) + "), leases among them";
}

std::string about_replica(const ServerInfo& info) {
  return "the server is a replica of " + printable(info["master_host"]) + ":" +
         printable(info["master_port"]);
}

std::vector<Finding> findings_of(const ServerInfo& info, const StoreConfig& config) {
  std::vector<Finding> found;
  judge_server(info, found);
  judge_memory(info, found);
  judge_disk(info, found);
  judge_way(config, found);
  if (config.options.layout == Layout::active_job_lock)
    found.push_back(
        {Weight::warning, "redis.layout",
         "layout=active_job_lock: a Ruby process goes by its own clock, may overwrite what we hold "
         "(refresh_lock!) and deletes without looking whose it is; docs/stores/redis.md tells more",
         "move on to the native layout when the last Ruby process has gone"});
  core::hush(found, config.accepted());
  return found;
}

}  // namespace holdfast::redis
