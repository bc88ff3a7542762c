// SPDX-License-Identifier: Apache-2.0
#include "stores/redis/findings.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "base/text.h"
#include "base/url.h"
#include "core/findings.h"

namespace holdfast::redis {
namespace {

void judge_server(const ServerInfo& info, std::vector<Finding>& found) {
  if (info.is_sentinel())
    found.push_back({Severity::danger, "redis.sentinel", about_sentinel,
                     "use the URL of the server that it monitors", true});
  if (info.is_in_cluster())
    found.push_back(
        {Severity::danger, "redis.cluster", about_cluster, "use a server that is not in a Cluster", true});
  if (info.is_replica())
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
  if (info.evicts())
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

using Version = std::array<int, 3>;

Version version_of(std::string_view text) {
  Version version{};
  for (int& part : version) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), part);
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    if (text.starts_with('.')) text.remove_prefix(1);
  }
  return version;
}

// The first of each series without CVE-2025-49844, by which whoever may EVAL can do anything on the server.
constexpr Version mended[] = {{6, 2, 20}, {7, 2, 11}, {7, 4, 6}, {8, 0, 4}, {8, 2, 2}};

std::string holes_of(const Version& version) {
  const auto same_series = std::find_if(std::begin(mended), std::end(mended), [&](const Version& first) {
    return first[0] == version[0] && first[1] == version[1];
  });
  const Version& first = same_series == std::end(mended) ? std::end(mended)[-1] : *same_series;
  std::string holes = version < first ? "CVE-2025-49844" : "";
  if (version >= Version{7, 2, 0} && version <= Version{8, 6, 2})
    holes += std::string(holes.empty() ? "" : " and ") + "CVE-2026-23479";
  return holes;
}

void judge_kind(const Kind& kind, std::vector<Finding>& found) {
  if (kind.name != "Redis") {
    found.push_back({Severity::note, "redis.kind",
                     "the server is " + kind.name + ", with which Holdfast has not been tested",
                     "run doctor's self-test there before you rely on it"});
    return;
  }
  const std::string holes = kind.version.empty() ? "" : holes_of(version_of(kind.version));
  if (!holes.empty())
    found.push_back({Severity::note, "redis.known-holes",
                     "Redis " + printable(kind.version) + " has, by its version number, " + holes +
                         ": users who may run scripts or blocking commands may take over the server; a "
                         "distribution may have fixed this without changing the number",
                     "ask your vendor, or upgrade"});
}

void judge_others(const Facts& facts, const StoreConfig& config, std::vector<Finding>& found) {
  if (facts.others == 0) return;
  found.push_back(
      {Severity::note, "redis.other-keys",
       (facts.others_counted ? "" : "at least ") + std::to_string(facts.others) +
           (facts.others == 1 ? " key does not look like a lease" : " keys do not look like leases") +
           " (no expiry, no owner of Holdfast), such as \"" + printable(facts.other) +
           "\": a lease on such a key is refused",
       std::string("keep leases apart with ") + (config.options.prefix.empty() ? "a" : "another") +
           " prefix= in the URL"});
}

bool always(const ServerInfo& info, const Facts& facts) {
  return info["aof_enabled"] == "1" && facts.appendfsync == "always";
}

void judge_durability(const ServerInfo& info, const Facts& facts, std::vector<Finding>& found) {
  if (info["aof_enabled"] == "1" && !facts.appendfsync.empty() && facts.appendfsync != "always")
    found.push_back({Severity::warning, "redis.appendfsync",
                     "appendfsync is " + printable(facts.appendfsync) +
                         ": a power cut can lose the last seconds, and with them leases that were granted",
                     "set appendfsync always, or fence what leases protect"});
  if (!info["uptime_in_seconds"].empty() && info.number("uptime_in_seconds") < 60 && !always(info, facts))
    found.push_back({Severity::warning, "redis.restarted",
                     "the server was started " + std::string(info["uptime_in_seconds"]) +
                         " seconds ago and may have forgotten leases that are still in use",
                     "wait for the longest ttl in use before you rely on it; set appendonly yes and "
                     "appendfsync always"});
}

// Whether others than this machine's can come, by what the server says of where it listens.
bool listens_to_others(const Facts& facts) {
  std::string_view rest = facts.bind;
  while (!rest.empty()) {
    std::string_view one = rest.substr(0, rest.find(' '));
    rest.remove_prefix(std::min(one.size() + 1, rest.size()));
    if (one.starts_with('-')) one.remove_prefix(1);  // where there is such an address
    if (!one.empty() && !is_local(one)) return true;
  }
  return false;
}

void judge_doors(const Facts& facts, const StoreConfig& config, std::vector<Finding>& found) {
  const bool has_password = !config.options.password.empty() && !facts.unlocked;
  const bool shows_who = has_password || !config.options.cert.empty();
  const bool open = !config.local() || (facts.protected_mode == "no" && listens_to_others(facts));
  if (!shows_who && open)
    found.push_back({Severity::warning, "redis.no-password",
                     "the server requires no password, and other machines can reach it: anyone there can "
                     "free a lease or delete everything",
                     "set up users and passwords, or let it listen on this machine only"});
  if (facts.almighty)
    found.push_back(
        {Severity::note, "redis.account",
         std::string("the user may do more than leases need, such as FLUSHALL, and so may anyone who ") +
             (shows_who ? "learns its credentials" : "reaches the server"),
         "use a user that has only the rights that docs/stores/redis.md lists"});
  if (!facts.maxmemory_clients.empty() && facts.maxmemory_clients != "0")
    found.push_back({Severity::note, "redis.client-eviction",
                     "the server disconnects clients when they use too much memory (maxmemory-clients " +
                         printable(facts.maxmemory_clients) +
                         "): waiters then have to poll, and notice later that a key is free",
                     "set maxmemory-clients 0"});
}

std::string listed(const std::vector<std::string>& words, const char* before, const char* between) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : between) + (before + printable(word));
  return text;
}

std::string grant(const std::vector<std::string>& commands, const StoreConfig& config) {
  const Options& o = config.options;
  return "ACL SETUSER " + printable(o.user.empty() ? "default" : o.user) + " ~" + printable(o.prefix) +
         "* ~holdfast:* &holdfast:bell:* " + listed(commands, "+", " ");
}

void judge_rights(const Facts& facts, const StoreConfig& config, std::vector<Finding>& found) {
  if (!facts.lacks.empty())
    found.push_back(
        {Severity::danger, "redis.rights",
         "the user lacks the right to run " + listed(facts.lacks, "", ", ") +
             ", or to run it on Holdfast's keys",
         "run: " + grant(facts.lacks, config) + " (docs/stores/redis.md lists all that is needed)"});
  if (!facts.lacks_for_jobs.empty())
    found.push_back({Severity::note, "redis.rights-of-jobs",
                     "the user may not run " + listed(facts.lacks_for_jobs, "", ", ") +
                         ": jobs do not work there; leases do",
                     "for jobs, run: " + grant(facts.lacks_for_jobs, config)});
  for (const std::string& unseen : facts.unseen)
    found.push_back({Severity::note, "redis.unseen", unseen, "run doctor as a user who may"});
}

}  // namespace

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

Diagnosis diagnosis_of(const ServerInfo& info, const Facts& facts, const StoreConfig& config) {
  const Kind kind = kind_of(info);
  Diagnosis diagnosis{.server = kind.name + (kind.version.empty() ? "" : " " + printable(kind.version)),
                      .findings = findings_of(info, config)};
  std::vector<Finding>& found = diagnosis.findings;
  if (std::any_of(facts.run_ids.begin(), facts.run_ids.end(),
                  [&](const std::string& id) { return id != facts.run_ids.front(); }))
    found.push_back({Severity::danger, "redis.identity",
                     "different servers answer at this address: one does not know what another has granted",
                     "use the URL of one server, without a proxy in front of several"});
  if (!facts.crowded.empty())
    found.push_back({Severity::warning, "redis.connections",
                     "the server refused a further connection, and a client needs up to three: " +
                         printable(facts.crowded),
                     "raise maxclients, or run fewer clients"});
  judge_others(facts, config, found);
  judge_rights(facts, config, found);
  judge_durability(info, facts, found);
  judge_doors(facts, config, found);
  judge_kind(kind, found);
  // With every grant on disk before it is told, and nobody else to take over, a crash forgets nothing.
  diagnosis.grade = core::grade_of(always(info, facts) ? Grade::B : Grade::C, found);
  core::mark_accepted(found, config.accepted());
  return diagnosis;
}

}  // namespace holdfast::redis
