// SPDX-License-Identifier: Apache-2.0
#include "stores/mongodb/findings.h"

#include <algorithm>

#include "base/text.h"
#include "core/findings.h"

namespace holdfast::mongodb {
namespace {

using namespace std::chrono_literals;

// The holder of a lease of ten seconds does not rely on the last tenth of a second.
constexpr Micros large_difference = 100ms;

std::string listed(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ", ") + printable(word);
  return text;
}

std::string quoted(const std::string& collection) { return "\"" + printable(collection) + "\""; }

// ---- what every client finds

struct ServerFacts {
  const ServerProbe& probe;
  const StoreConfig& config;

  // The place on another machine that is talked to; empty: none.
  std::string other_machine() const {
    if (!config.local) return config.place;
    // A member on another machine is not talked to unencrypted unless the URL allows it.
    return config.tls || config.plaintext_allowed ? probe.elsewhere : "";
  }
};

constexpr core::FindingRule<ServerFacts> server_rules[] = {
    {.topic = "mongodb.version",
     .severity = Severity::danger,
     .applies = [](const ServerFacts& f) { return f.probe.old; },
     .what = [](const ServerFacts& f) { return f.config.place + about_age; },
     .advice = "upgrade it",
     .at_open = true},
    {.topic = "mongodb.replica",
     .severity = Severity::danger,
     .applies = [](const ServerFacts& f) { return f.probe.secondary; },
     .what = [](const ServerFacts& f) { return f.config.place + " is not the primary"; },
     .advice = "name the whole replica set with replicaSet=",
     .at_open = true},
    {.topic = "mongodb.router",
     .severity = Severity::danger,
     .applies = [](const ServerFacts& f) { return f.probe.router; },
     .what = about_router,
     .advice = "use the URL of a replica set",
     .at_open = true},
    {.topic = "mongodb.standalone",
     .severity = Severity::warning,
     .applies = [](const ServerFacts& f) { return !f.probe.streams(); },
     .what =
         "the server is not in a replica set: its disk has the only copy of the leases, and waiters have to "
         "poll, because only a replica set can notify them",
     .advice = "make it a replica set of one or three members"},
    {.topic = "mongodb.collection",
     .severity = Severity::danger,
     .applies = [](const ServerFacts& f) { return !f.probe.odd.empty(); },
     .what =
         [](const ServerFacts& f) {
           return "the collection " + quoted(f.config.leases()) + " " + f.probe.odd;
         },
     .advice = "name another one with collection=",
     .at_open = true},
    {.topic = "mongodb.ttl-index",
     .severity = Severity::danger,
     .applies = [](const ServerFacts& f) { return !f.probe.vanishing_index.empty(); },
     .what = [](const ServerFacts& f) { return about_index(f.probe.vanishing_index); },
     .advice = "drop it, or name another collection",
     .at_open = true},
    {.topic = "mongodb.tls",
     .severity = Severity::warning,
     .applies =
         [](const ServerFacts& f) {
           return f.config.tls && !f.config.verified && !f.other_machine().empty();
         },
     .what =
         [](const ServerFacts& f) {
           return "the certificate of " + f.other_machine() +
                  " is not checked: another machine can answer in its place";
         },
     .advice = "give the certificate of its authority with tlsCAFile="},
    {.topic = "mongodb.tls",
     .severity = Severity::warning,
     .applies = [](const ServerFacts& f) { return !f.config.tls && !f.other_machine().empty(); },
     .what =
         [](const ServerFacts& f) {
           return "everything is sent unencrypted to " + f.other_machine() +
                  ": others on the network can read and change it";
         },
     .advice = "write tls=true"},
    {.topic = "mongodb.layout",
     .severity = Severity::warning,
     .applies = [](const ServerFacts& f) { return f.config.beside_the_gem(); },
     .what = "layout=mongo-lock: a Ruby process may insert a document beside ours at the same moment, extend "
             "ours as its own, or delete all; see docs/stores/mongodb.md",
     .advice = "switch to the native layout once no Ruby process uses the collection"},
    {.topic = "mongodb.layout",
     .severity = Severity::warning,
     .applies = [](const ServerFacts& f) { return f.config.beside_shedlock(); },
     .what = "layout=shedlock: JVMs count by their own clocks and unlock without looking whose the lock is: "
             "one whose clock is ahead, or whose task takes longer than lockAtMostFor, can take over or end "
             "a lease; see docs/migrate/shedlock.md",
     .advice = "switch to the native layout once no JVM uses the collection",
     .at_open = true},
};

// ---- what a diagnosis finds besides

struct IndexFacts {
  const std::string& name;
  bool deletes, unique;
};

constexpr core::FindingRule<IndexFacts> index_rules[] = {
    {.topic = "mongodb.ttl-index",
     .severity = Severity::danger,
     .applies = [](const IndexFacts& f) { return f.deletes; },
     .what =
         [](const IndexFacts& f) {
           return "the index " + printable(f.name) +
                  " deletes documents after a time: jobs, ticks, or the largest token of purged keys";
         },
     .advice = "drop it"},
    {.topic = "mongodb.unique-index",
     .severity = Severity::warning,
     .applies = [](const IndexFacts& f) { return f.unique; },
     .what =
         [](const IndexFacts& f) {
           return "the index " + printable(f.name) +
                  " is unique: if two leases have the same values in it, the second is refused, and its key "
                  "cannot be acquired";
         },
     .advice = "drop it"},
};

struct DepthFacts {
  const Facts& facts;
  const StoreConfig& config;

  bool has_several_processes() const {
    const auto& all = facts.processes;
    return std::any_of(all.begin(), all.end(), [&](const std::string& one) { return one != all.front(); });
  }
  // The two members whose clocks certainly differ most; empty: none differ much.
  std::string clock_difference() const {
    Micros most = large_difference;
    std::string pair;
    for (const Clock& one : facts.clocks) {
      for (const Clock& other : facts.clocks) {
        const Micros apart = one.ahead - (other.ahead + other.or_more);
        if (apart <= most) continue;
        most = apart;
        pair = printable(one.member) + " is ahead of " + printable(other.member) + " by " +
               std::to_string(std::chrono::floor<Millis>(apart).count()) + " ms";
      }
    }
    return pair;
  }
};

constexpr core::FindingRule<DepthFacts> server_depth_rules[] = {
    {.topic = "mongodb.identity",
     .severity = Severity::danger,
     .applies = [](const DepthFacts& f) { return f.has_several_processes(); },
     .what = "different servers answer at this address: one may not know what another has granted",
     .advice = "name the members of one replica set, without a proxy in front of several"},
    {.topic = "mongodb.connections",
     .severity = Severity::warning,
     .applies = [](const DepthFacts& f) { return !f.facts.crowded.empty(); },
     .what =
         [](const DepthFacts& f) {
           return "the server refused a further connection, and a client needs up to three: " +
                  printable(f.facts.crowded);
         },
     .advice = "raise net.maxIncomingConnections, or run fewer clients"},
};

constexpr core::FindingRule<DepthFacts> depth_rules[] = {
    // The collections.
    {.topic = "mongodb.collection",
     .severity = Severity::danger,
     .applies = [](const DepthFacts& f) { return !f.facts.odd_gem.empty(); },
     .what =
         [](const DepthFacts& f) {
           return "the collection " + quoted(f.config.options.collection) + " of the gem " + f.facts.odd_gem;
         },
     .advice = "name another one with collection="},
    {.topic = "mongodb.sharded",
     .severity = Severity::warning,
     .applies = [](const DepthFacts& f) { return f.facts.sharded; },
     .what =
         [](const DepthFacts& f) {
           return "the collection " + quoted(f.config.leases()) +
                  " is sharded: unless it is sharded by _id, one key could have two documents";
         },
     .advice = "shard it by _id, or keep it on one shard"},
    // How leases are stored.
    {.topic = "mongodb.journal",
     .severity = Severity::warning,
     .applies = [](const DepthFacts& f) { return f.facts.unjournaled; },
     .what = "writeConcernMajorityJournalDefault is false: a majority may have confirmed a write that is in "
             "memory only, and a power cut loses it",
     .advice = "set it true with rs.reconfig"},
    {.topic = "mongodb.in-memory",
     .severity = Severity::warning,
     .applies = [](const DepthFacts& f) { return !f.facts.engine.empty(); },
     .what =
         [](const DepthFacts& f) {
           return "the server keeps documents in memory only (" + printable(f.facts.engine) +
                  "): after a restart, it has forgotten all leases";
         },
     .advice = "keep leases on a server with the engine wiredTiger"},
    {.topic = "mongodb.write-concern",
     .severity = Severity::note,
     .applies = [](const DepthFacts& f) { return f.facts.weak_default; },
     .what =
         "the default write concern is less than a majority: Holdfast sets its own, but a fail-over may undo "
         "what your programs write under a lease",
     .advice = "set the default to {w: \"majority\"} with setDefaultRWConcern"},
    {.topic = "mongodb.arbiters",
     .severity = Severity::note,
     .applies = [](const DepthFacts& f) { return !f.facts.arbiters.empty(); },
     .what =
         [](const DepthFacts& f) {
           return "the set has arbiters (" + listed(f.facts.arbiters) +
                  "), which store no data: if another member is down, there may be no majority that stores a "
                  "lease, and then no lease is granted";
         },
     .advice = "replace them by members that store data"},
    {.topic = "mongodb.clocks",
     .severity = Severity::warning,
     .applies = [](const DepthFacts& f) { return !f.clock_difference().empty(); },
     .what =
         [](const DepthFacts& f) {
           return "the clocks of the members differ: " + f.clock_difference() +
                  "; a fail-over can cut a lease short";
         },
     .advice = "synchronise the clock of each member (NTP)"},
    // Who may do what.
    {.topic = "mongodb.no-password",
     .severity = Severity::warning,
     .applies =
         [](const DepthFacts& f) {
           return !f.config.logs_in && f.facts.let_in && (!f.config.local || f.facts.open);
         },
     .what =
         "the server requires no login, and other machines can reach it: anyone there can free a lease or "
         "delete everything",
     .advice = "switch on security.authorization, or let it listen on this machine only"},
    {.topic = "mongodb.account",
     .severity = Severity::note,
     .applies = [](const DepthFacts& f) { return !f.facts.powers.empty(); },
     .what =
         [](const DepthFacts& f) {
           return "the user may do more than leases need (" + listed(f.facts.powers) +
                  "), and so may anyone who learns its password";
         },
     .advice = "use a user that has only the rights that docs/stores/mongodb.md lists"},
    {.topic = "mongodb.rights",
     .severity = Severity::danger,
     .applies = [](const DepthFacts& f) { return !f.facts.lacks.empty(); },
     .what =
         [](const DepthFacts& f) {
           return "the user lacks rights that a client needs: " + listed(f.facts.lacks);
         },
     .advice = "grant them, or the role readWrite; docs/stores/mongodb.md lists what is enough",
     .blocks = true},
    {.topic = "mongodb.rights-of-jobs",
     .severity = Severity::note,
     .applies = [](const DepthFacts& f) { return !f.facts.lacks_for_jobs.empty(); },
     .what =
         [](const DepthFacts& f) {
           return "the user lacks rights for jobs: " + listed(f.facts.lacks_for_jobs) +
                  "; leases work without them";
         },
     .advice = "for jobs, grant them, or the role readWrite"},
    {.topic = "mongodb.unseen",
     .severity = Severity::note,
     .applies = [](const DepthFacts& f) { return !f.facts.unseen.empty(); },
     .what =
         [](const DepthFacts& f) {
           return "doctor cannot see everything, because the user may not ask or the server does not know "
                  "the "
                  "command: " +
                  listed(f.facts.unseen);
         },
     .advice = "run doctor as a user with the role clusterMonitor"},
};

std::string name_of(const ServerProbe& probe, const Facts& facts) {
  const std::string what = probe.router        ? "router"
                           : probe.set.empty() ? "standalone"
                                               : "replica set " + printable(probe.set);
  return "MongoDB" + (facts.version.empty() ? "" : " " + printable(facts.version)) + ", " + what;
}

}  // namespace

std::string about_index(const std::string& name) {
  return "the index " + printable(name) +
         " deletes documents after a time, and their tokens with them: a later token could be smaller";
}

std::vector<std::string_view> finding_topics() {
  return core::topics_of(server_rules, index_rules, server_depth_rules, depth_rules);
}

std::vector<Finding> findings_of(const ServerProbe& probe, const StoreConfig& config) {
  std::vector<Finding> found = core::judged(server_rules, {probe, config});
  core::mark_accepted(found, config.accepted());
  return found;
}

Diagnosis diagnosis_of(const ServerProbe& probe, const Facts& facts, const StoreConfig& config) {
  Diagnosis diagnosis{.server = name_of(probe, facts), .findings = findings_of(probe, config)};
  std::vector<Finding>& found = diagnosis.findings;
  core::judge(server_depth_rules, {facts, config}, found);
  for (const std::string& name : facts.vanishing) core::judge(index_rules, {name, true, false}, found);
  for (const std::string& name : facts.unique) core::judge(index_rules, {name, false, true}, found);
  core::judge(depth_rules, {facts, config}, found);
  diagnosis.grade = grade_of(Grade::B, found);
  core::mark_accepted(found, config.accepted());
  return diagnosis;
}

}  // namespace holdfast::mongodb
