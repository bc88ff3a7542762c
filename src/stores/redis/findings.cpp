// SPDX-License-Identifier: Apache-2.0
#include "stores/redis/findings.h"

#include "base/text.h"
#include "core/findings.h"

namespace holdfast::redis {
namespace {

void judge_server(const ServerInfo& info, std::vector<Finding>& found) {
  if (info["redis_mode"] == "sentinel")
    found.push_back({Severity::danger, "redis.sentinel", about_sentinel,
                     "use the URL of the server that it monitors", true});
  if (info.number("cluster_enabled") == 1)
    found.push_back(
        {Severity::danger, "redis.cluster", about_cluster, "use a server that is not in a Cluster", true});
  if (info["role"] == "slave")
    found.push_back(
        {Severity::danger, "redis.replica", about_replica(info), "use the URL of the primary", true});
  if (const std::uint64_t replicas = info.number("connected_slaves"); replicas > 0)
    found.push_back({Severity::warning, "redis.replicas",
                     "the server has " + std::to_string(replicas) +
                         (replicas == 1 ? " replica" : " replicas") +
                         ": one that takes over may lack the latest leases, so two owners could hold one key",
                     "keep leases on a server without replicas, or fence what they protect", true});
}

void judge_memory(const ServerInfo& info, std::vector<Finding>& found) {
  if (evicts(info))
    found.push_back({Severity::danger, "redis.eviction", about_eviction(info),
                     "set maxmemory-policy noeviction, or keep leases on a server of their own", true});
  const std::uint64_t most = info.number("maxmemory"), used = info.number("used_memory");
  if (most > 0 && used > most / 10 * 9)
    found.push_back({Severity::warning, "redis.memory",
                     "the server's memory is nearly full (" + std::to_string(used) + " of " +
                         std::to_string(most) + " bytes): once it is full, no lease is granted",
                     "raise maxmemory"});
  if (const std::uint64_t evicted = info.number("evicted_keys"); evicted > 0)
    found.push_back({Severity::warning, "redis.evicted",
                     "the server has evicted " + std::to_string(evicted) +
                         " keys since it was started, perhaps leases too",
                     "set maxmemory-policy noeviction"});
}

void judge_disk(const ServerInfo& info, std::vector<Finding>& found) {
  if (info["aof_enabled"] == "0")
    found.push_back(
        {Severity::warning, "redis.appendonly",
         "the server has no append-only file (appendonly no): after a restart, it has forgotten all leases",
         "set appendonly yes", true});
  if (info["aof_last_write_status"] == "err")
    found.push_back(
        {Severity::danger, "redis.append-errors",
         "the server could not write its append-only file: after a restart, it has forgotten leases",
         "check the server's log and disk", true});
  if (info["aof_last_bgrewrite_status"] == "err")
    found.push_back({Severity::danger, "redis.rewrite-errors",
                     "the server could not rewrite its append-only file (BGREWRITEAOF): the file grows until "
                     "the disk is full, and then nothing is stored",
                     "check the server's log, disk and memory"});
}

void judge_way(const StoreConfig& config, std::vector<Finding>& found) {
  if (config.options.tls || config.local()) return;
  const bool secret = !config.options.password.empty();
  found.push_back({Severity::warning, "redis.tls",
                   std::string(secret ? "the password" : "everything") + " is sent unencrypted to " +
                       printable(config.options.host) + ": others on the network can read and change it",
                   "write rediss:// instead of redis://", secret});
}

}  // namespace

bool evicts(const ServerInfo& info) {
  return info.number("maxmemory") > 0 && info["maxmemory_policy"] != "noeviction";
}

std::string about_eviction(const ServerInfo& info) {
  return "the server evicts keys, leases too, when its memory is full (maxmemory-policy " +
         printable(info["maxmemory_policy"]) + ")";
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
        {Severity::warning, "redis.layout",
         "layout=active_job_lock: a Ruby process uses its own clock, may overwrite a lease of ours "
         "(refresh_lock!) and deletes leases without checking whose they are; see docs/stores/redis.md",
         "switch to the native layout once no Ruby process uses these keys"});
  core::mark_accepted(found, config.accepted());
  return found;
}

}  // namespace holdfast::redis
