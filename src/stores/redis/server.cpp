// SPDX-License-Identifier: Apache-2.0
#include "stores/redis/server.h"

#include <charconv>

#include "base/text.h"

namespace holdfast::redis {
namespace {

bool evicts(const ServerInfo& info) {
  return info.number("maxmemory") > 0 && info["maxmemory_policy"] != "noeviction";
}

std::string about_eviction(const ServerInfo& info) {
  return "the server throws keys away when its memory is full (maxmemory-policy " +
         printable(info["maxmemory_policy"]) + "), leases among them";
}

}  // namespace

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

Status check_server(const ServerInfo& info, const Site& site) {
  const std::string begin = printable(site.place) + ": ";
  if (info.number("cluster_enabled") == 1)
    return Error{Errc::refused,
                 begin + "the server is one of a Cluster, which is not supported; use a server of its own"};
  if (info["role"] == "slave")
    return Error{Errc::refused, begin + "the server is a replica of " + printable(info["master_host"]) + ":" +
                                    printable(info["master_port"]) +
                                    "; leases have to be written on the primary"};
  if (evicts(info) && !site.options.allow_unsafe)
    return Error{Errc::refused, begin + about_eviction(info) +
                                    ": two could hold one key; set maxmemory-policy noeviction, or give "
                                    "leases a server of their own (unsafe=allow uses it all the same)"};
  return ok();
}

Traits traits_of(const ServerInfo& info, const Site& site) {
  Traits traits{
      .name = "redis", .resolution = Millis(1), .push = true, .fair = true, .tidies = true, .grade = 'C'};
  const auto warn = [&](std::string text) { traits.warnings.push_back(std::move(text)); };
  const auto find = [&](std::string text) { traits.findings.push_back(std::move(text)); };
  if (evicts(info)) {
    traits.grade = 'D';
    warn(about_eviction(info));
  }
  if (info["aof_enabled"] == "0")
    warn("the server keeps no append-only file (appendonly no): a restart forgets the leases that are held");
  if (info["aof_last_write_status"] == "err")
    warn("the server could not write its append-only file: a restart forgets the leases that are held");
  if (const std::uint64_t replicas = info.number("connected_slaves"); replicas > 0)
    warn("the server has " + std::to_string(replicas) + (replicas == 1 ? " replica" : " replicas") +
         ": one that takes over may not know the last grants, and two could hold one key");
  if (!site.options.password.empty() && !site.options.tls && !site.local())
    warn("the password travels in the clear to " + printable(site.options.host) + "; rediss:// hides it");
  if (site.options.layout == Layout::active_job_lock)
    find(
        "layout=active_job_lock: a Ruby process goes by its own clock, may overwrite what we hold "
        "(refresh_lock!) "
        "and deletes without looking whose it is; docs/stores/redis.md tells more");
  const std::uint64_t most = info.number("maxmemory"), used = info.number("used_memory");
  if (most > 0 && used > most / 10 * 9)
    find("the server's memory is nearly full (" + std::to_string(used) + " of " + std::to_string(most) +
         " bytes): then nothing is granted any more");
  if (const std::uint64_t evicted = info.number("evicted_keys"); evicted > 0)
    find("the server has thrown away " + std::to_string(evicted) + " keys since it was started");
  traits.findings.insert(traits.findings.end(), traits.warnings.begin(), traits.warnings.end());
  if (site.options.allow_unsafe) traits.warnings.clear();
  return traits;
}

}  // namespace holdfast::redis
