// SPDX-License-Identifier: Apache-2.0
#include "stores/redis/findings.h"

#include <algorithm>
#include <functional>

#include "base/text.h"
#include "base/url.h"
#include "core/findings.h"

namespace holdfast::redis {
namespace {

// -- what every client finds, by INFO alone

struct ServerFacts {
  const ServerInfo& info;
  const StoreConfig& config;

  std::string number(std::string_view name) const { return std::to_string(info.number(name)); }
  // Others on the network can read what we send.
  bool is_readable() const { return !config.options.tls && !config.local(); }
  bool has_password() const { return !config.options.password.empty(); }
};

std::string unencrypted(const ServerFacts& f) {
  return std::string(f.has_password() ? "the password" : "everything") + " is sent unencrypted to " +
         printable(f.config.options.host) + ": others on the network can read and change it";
}

constexpr core::FindingRule<ServerFacts> server_rules[] = {
    {.topic = "redis.sentinel",
     .severity = Severity::danger,
     .applies = [](const ServerFacts& f) { return f.info.is_sentinel(); },
     .what = about_sentinel,
     .advice = "use the URL of the server that it monitors",
     .at_open = true},
    {.topic = "redis.cluster",
     .severity = Severity::danger,
     .applies = [](const ServerFacts& f) { return f.info.is_in_cluster(); },
     .what = about_cluster,
     .advice = "use a server that is not in a Cluster",
     .at_open = true},
    {.topic = "redis.replica",
     .severity = Severity::danger,
     .applies = [](const ServerFacts& f) { return f.info.is_replica(); },
     .what = [](const ServerFacts& f) { return about_replica(f.info); },
     .advice = "use the URL of the primary",
     .at_open = true},
    {.topic = "redis.replicas",
     .severity = Severity::warning,
     .applies = [](const ServerFacts& f) { return f.info.number("connected_slaves") > 0; },
     .what =
         [](const ServerFacts& f) {
           return "the server has " + f.number("connected_slaves") +
                  (f.info.number("connected_slaves") == 1 ? " replica" : " replicas") +
                  ": one that takes over may lack the latest leases, so two owners could hold one key";
         },
     .advice = "keep leases on a server without replicas, or fence what they protect",
     .at_open = true},
    // Its memory.
    {.topic = "redis.eviction",
     .severity = Severity::danger,
     .applies = [](const ServerFacts& f) { return f.info.evicts(); },
     .what = [](const ServerFacts& f) { return about_eviction(f.info); },
     .advice = "set maxmemory-policy noeviction, or keep leases on a server of their own",
     .at_open = true},
    {.topic = "redis.memory",
     .severity = Severity::warning,
     .applies =
         [](const ServerFacts& f) {
           const std::uint64_t most = f.info.number("maxmemory");
           return most > 0 && f.info.number("used_memory") > most / 10 * 9;
         },
     .what =
         [](const ServerFacts& f) {
           return "the server's memory is nearly full (" + f.number("used_memory") + " of " +
                  f.number("maxmemory") + " bytes): once it is full, no lease is granted";
         },
     .advice = "raise maxmemory"},
    {.topic = "redis.evicted",
     .severity = Severity::warning,
     .applies = [](const ServerFacts& f) { return f.info.number("evicted_keys") > 0; },
     .what =
         [](const ServerFacts& f) {
           return "the server has evicted " + f.number("evicted_keys") +
                  " keys since it was started, perhaps leases too";
         },
     .advice = "set maxmemory-policy noeviction"},
    // Its disk.
    {.topic = "redis.appendonly",
     .severity = Severity::warning,
     .applies = [](const ServerFacts& f) { return f.info["aof_enabled"] == "0"; },
     .what = "the server has no append-only file (appendonly no): after a restart, it has forgotten all "
             "leases",
     .advice = "set appendonly yes",
     .at_open = true},
    {.topic = "redis.append-errors",
     .severity = Severity::danger,
     .applies = [](const ServerFacts& f) { return f.info["aof_last_write_status"] == "err"; },
     .what = "the server could not write its append-only file: after a restart, it has forgotten leases",
     .advice = "check the server's log and disk",
     .at_open = true},
    {.topic = "redis.rewrite-errors",
     .severity = Severity::danger,
     .applies = [](const ServerFacts& f) { return f.info["aof_last_bgrewrite_status"] == "err"; },
     .what = "the server could not rewrite its append-only file (BGREWRITEAOF): the file grows until the "
             "disk is full, and then nothing is stored",
     .advice = "check the server's log, disk and memory"},
    // How this client uses it.
    {.topic = "redis.tls",
     .severity = Severity::warning,
     .applies = [](const ServerFacts& f) { return f.is_readable() && f.has_password(); },
     .what = unencrypted,
     .advice = "write rediss:// instead of redis://",
     .at_open = true},
    {.topic = "redis.tls",
     .severity = Severity::warning,
     .applies = [](const ServerFacts& f) { return f.is_readable() && !f.has_password(); },
     .what = unencrypted,
     .advice = "write rediss:// instead of redis://"},
    {.topic = "redis.layout",
     .severity = Severity::warning,
     .applies = [](const ServerFacts& f) { return f.config.options.layout == Layout::active_job_lock; },
     .what = "layout=active_job_lock: a Ruby process uses its own clock, may overwrite a lease of ours "
             "(refresh_lock!) and deletes leases without checking whose they are; see docs/stores/redis.md",
     .advice = "switch to the native layout once no Ruby process uses these keys"},
};

// -- what only a diagnosis finds

struct DepthFacts {
  const ServerInfo& info;
  const Depth& depth;
  const StoreConfig& config;
  const Kind& kind;

  // Every grant is on disk before it is acknowledged.
  bool always_syncs() const { return info["aof_enabled"] == "1" && depth.appendfsync == "always"; }
  // The server knows who we are.
  bool is_authenticated() const {
    return (!config.options.password.empty() && !depth.lets_anyone_in) || !config.options.cert.empty();
  }
};

// Whether other machines can connect, by the addresses on which the server listens.
bool listens_to_others(const Depth& depth) {
  std::string_view rest = depth.bind;
  while (!rest.empty()) {
    std::string_view one = rest.substr(0, rest.find(' '));
    rest.remove_prefix(std::min(one.size() + 1, rest.size()));
    if (one.starts_with('-')) one.remove_prefix(1);  // only if there is such an address
    if (!one.empty() && !is_local(one)) return true;
  }
  return false;
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

constexpr core::FindingRule<DepthFacts> depth_rules[] = {
    // The way to it.
    {.topic = "redis.identity",
     .severity = Severity::danger,
     .applies =
         [](const DepthFacts& f) {
           const auto& ids = f.depth.run_ids;
           return std::adjacent_find(ids.begin(), ids.end(), std::not_equal_to<>()) != ids.end();
         },
     .what = "different servers answer at this address: one does not know what another has granted",
     .advice = "use the URL of one server, without a proxy in front of several"},
    {.topic = "redis.connections",
     .severity = Severity::warning,
     .applies = [](const DepthFacts& f) { return !f.depth.connection_refused.empty(); },
     .what =
         [](const DepthFacts& f) {
           return "the server refused a further connection, and a client needs up to three: " +
                  printable(f.depth.connection_refused);
         },
     .advice = "raise maxclients, or run fewer clients"},
    {.topic = "redis.other-keys",
     .severity = Severity::note,
     .applies = [](const DepthFacts& f) { return f.depth.other_keys > 0; },
     .what =
         [](const DepthFacts& f) {
           return (f.depth.counted_all ? "" : "at least ") + std::to_string(f.depth.other_keys) +
                  (f.depth.other_keys == 1 ? " key does not look like a lease"
                                           : " keys do not look like leases") +
                  " (no expiry, no owner of Holdfast), such as \"" + printable(f.depth.other_key) +
                  "\": a lease on such a key is refused";
         },
     .advice =
         [](const DepthFacts& f) {
           return std::string("keep leases apart with ") +
                  (f.config.options.prefix.empty() ? "a" : "another") + " prefix= in the URL";
         }},
    // The rights of the user.
    {.topic = "redis.rights",
     .severity = Severity::danger,
     .applies = [](const DepthFacts& f) { return !f.depth.lacks.empty(); },
     .what =
         [](const DepthFacts& f) {
           return "the user lacks the right to run " + listed(f.depth.lacks, "", ", ") +
                  ", or to run it on Holdfast's keys";
         },
     .advice =
         [](const DepthFacts& f) {
           return "run: " + grant(f.depth.lacks, f.config) +
                  " (docs/stores/redis.md lists all that is needed)";
         },
     .blocks = true},
    {.topic = "redis.rights-of-jobs",
     .severity = Severity::note,
     .applies = [](const DepthFacts& f) { return !f.depth.lacks_for_jobs.empty(); },
     .what =
         [](const DepthFacts& f) {
           return "the user may not run " + listed(f.depth.lacks_for_jobs, "", ", ") +
                  ": jobs do not work there; leases do";
         },
     .advice =
         [](const DepthFacts& f) { return "for jobs, run: " + grant(f.depth.lacks_for_jobs, f.config); }},
    {.topic = "redis.unseen",
     .severity = Severity::note,
     .applies = [](const DepthFacts& f) { return !f.depth.unseen_settings.empty(); },
     .what =
         [](const DepthFacts& f) {
           return "doctor cannot see how often the server writes to disk, nor where it listens: " +
                  f.depth.unseen_settings;
         },
     .advice = "run doctor as a user who may"},
    {.topic = "redis.unseen",
     .severity = Severity::note,
     .applies = [](const DepthFacts& f) { return !f.depth.unseen_rights.empty(); },
     .what =
         [](const DepthFacts& f) {
           return "doctor cannot see which rights the user has: " + f.depth.unseen_rights;
         },
     .advice = "run doctor as a user who may"},
    // Whether it forgets grants.
    {.topic = "redis.appendfsync",
     .severity = Severity::warning,
     .applies =
         [](const DepthFacts& f) {
           return f.info["aof_enabled"] == "1" && !f.depth.appendfsync.empty() && !f.always_syncs();
         },
     .what =
         [](const DepthFacts& f) {
           return "appendfsync is " + printable(f.depth.appendfsync) +
                  ": a power cut can lose the last seconds, and with them leases that were granted";
         },
     .advice = "set appendfsync always, or fence what leases protect"},
    {.topic = "redis.restarted",
     .severity = Severity::warning,
     .applies =
         [](const DepthFacts& f) {
           return !f.info["uptime_in_seconds"].empty() && f.info.number("uptime_in_seconds") < 60 &&
                  !f.always_syncs();
         },
     .what =
         [](const DepthFacts& f) {
           return "the server was started " + std::string(f.info["uptime_in_seconds"]) +
                  " seconds ago and may have forgotten leases that are still in use";
         },
     .advice = "wait for the longest ttl in use before you rely on it; set appendonly yes and appendfsync "
               "always"},
    // Who else can reach it.
    {.topic = "redis.no-password",
     .severity = Severity::warning,
     .applies =
         [](const DepthFacts& f) {
           return !f.is_authenticated() &&
                  (!f.config.local() || (f.depth.protected_mode == "no" && listens_to_others(f.depth)));
         },
     .what = "the server requires no password, and other machines can reach it: anyone there can free a "
             "lease or delete everything",
     .advice = "set up users and passwords, or let it listen on this machine only"},
    {.topic = "redis.account",
     .severity = Severity::note,
     .applies = [](const DepthFacts& f) { return f.depth.may_delete_all; },
     .what =
         [](const DepthFacts& f) {
           return std::string(
                      "the user may do more than leases need, such as FLUSHALL, and so may anyone "
                      "who ") +
                  (f.is_authenticated() ? "learns its credentials" : "reaches the server");
         },
     .advice = "use a user that has only the rights that docs/stores/redis.md lists"},
    {.topic = "redis.client-eviction",
     .severity = Severity::note,
     .applies =
         [](const DepthFacts& f) {
           return !f.depth.maxmemory_clients.empty() && f.depth.maxmemory_clients != "0";
         },
     .what =
         [](const DepthFacts& f) {
           return "the server disconnects clients when they use too much memory (maxmemory-clients " +
                  printable(f.depth.maxmemory_clients) +
                  "): waiters then have to poll, and notice later that a key is free";
         },
     .advice = "set maxmemory-clients 0"},
    {.topic = "redis.kind",
     .severity = Severity::note,
     .applies = [](const DepthFacts& f) { return f.kind.name != "Redis"; },
     .what =
         [](const DepthFacts& f) {
           return "the server is " + f.kind.name + ", with which Holdfast has not been tested";
         },
     .advice = "run doctor's self-test there before you rely on it"},
};

}  // namespace

std::vector<std::string_view> finding_topics() { return core::topics_of(server_rules, depth_rules); }

std::vector<Finding> findings_of(const ServerInfo& info, const StoreConfig& config) {
  std::vector<Finding> found = core::judged(server_rules, {info, config});
  core::mark_accepted(found, config.accepted());
  return found;
}

Diagnosis diagnosis_of(const ServerInfo& info, const Depth& depth, const StoreConfig& config) {
  const Kind kind = kind_of(info);
  const DepthFacts facts{info, depth, config, kind};
  Diagnosis diagnosis{.server = kind.name + (kind.version.empty() ? "" : " " + printable(kind.version)),
                      .findings = findings_of(info, config)};
  core::judge(depth_rules, facts, diagnosis.findings);
  // If every grant is on disk before it is acknowledged, and nobody else takes over, a crash forgets nothing.
  diagnosis.grade = grade_of(facts.always_syncs() ? Grade::B : Grade::C, diagnosis.findings);
  core::mark_accepted(diagnosis.findings, config.accepted());
  return diagnosis;
}

}  // namespace holdfast::redis
