// SPDX-License-Identifier: Apache-2.0
// What a thorough look has brought, judged.
#include <algorithm>

#include "base/text.h"
#include "core/findings.h"
#include "stores/mongodb/findings.h"

namespace holdfast::mongodb {
namespace {

using namespace std::chrono_literals;

// Of a lease of ten seconds a holder does not believe in the last tenth of a second.
constexpr Micros much = 100ms;

std::string listed(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ", ") + printable(word);
  return text;
}

void judge_collections(const Facts& facts, const StoreConfig& config, std::vector<Finding>& found) {
  for (const std::string& index : facts.vanishing)
    found.push_back({Severity::danger, "mongodb.ttl-index",
                     "the index " + printable(index) +
                         " deletes documents after a time: jobs, ticks, or the largest token of purged keys",
                     "drop it"});
  for (const std::string& index : facts.unique)
    found.push_back(
        {Severity::warning, "mongodb.unique-index",
         "the index " + printable(index) +
             " is unique: if two leases have the same values in it, the second is refused, and its key "
             "cannot be acquired",
         "drop it"});
  if (!facts.odd_gem.empty())
    found.push_back(
        {Severity::danger, "mongodb.collection",
         "the collection \"" + printable(config.options.collection) + "\" of the gem " + facts.odd_gem,
         "name another one with collection="});
  if (facts.sharded)
    found.push_back({Severity::warning, "mongodb.sharded",
                     "the collection \"" + printable(config.leases()) +
                         "\" is sharded: unless it is sharded by _id, one key could have two documents",
                     "shard it by _id, or keep it on one shard"});
}

void judge_durability(const Facts& facts, std::vector<Finding>& found) {
  if (facts.unjournaled)
    found.push_back(
        {Severity::warning, "mongodb.journal",
         "writeConcernMajorityJournalDefault is false: a majority may have confirmed a write that is in "
         "memory only, and a power cut loses it",
         "set it true with rs.reconfig"});
  if (!facts.engine.empty())
    found.push_back({Severity::warning, "mongodb.in-memory",
                     "the server keeps documents in memory only (" + printable(facts.engine) +
                         "): after a restart, it has forgotten all leases",
                     "keep leases on a server with the engine wiredTiger"});
  if (facts.weak_default)
    found.push_back(
        {Severity::note, "mongodb.write-concern",
         "the default write concern is less than a majority: Holdfast sets its own, but a fail-over may undo "
         "what your programs write under a lease",
         "set the default to {w: \"majority\"} with setDefaultRWConcern"});
  if (!facts.arbiters.empty())
    found.push_back({Severity::note, "mongodb.arbiters",
                     "the set has arbiters (" + listed(facts.arbiters) +
                         "), which store no data: if another member is down, there may be no majority that "
                         "stores a lease, and then no lease is granted",
                     "replace them by members that store data"});
}

// The least by which two of them differ for certain.
void judge_clocks(const Facts& facts, std::vector<Finding>& found) {
  Micros most = much;
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
  if (!pair.empty())
    found.push_back({Severity::warning, "mongodb.clocks",
                     "the clocks of the members differ: " + pair + "; a fail-over can cut a lease short",
                     "synchronise the clock of each member (NTP)"});
}

void judge_doors(const Facts& facts, const StoreConfig& config, std::vector<Finding>& found) {
  if (!config.logs_in && facts.let_in && (!config.local || facts.open))
    found.push_back({Severity::warning, "mongodb.no-password",
                     "the server requires no login, and other machines can reach it: anyone there "
                     "can free a lease or delete everything",
                     "switch on security.authorization, or let it listen on this machine only"});
  if (!facts.powers.empty())
    found.push_back({Severity::note, "mongodb.account",
                     "the user may do more than leases need (" + listed(facts.powers) +
                         "), and so may anyone who learns its password",
                     "use a user that has only the rights that docs/stores/mongodb.md lists"});
  if (!facts.lacks.empty())
    found.push_back({Severity::danger, "mongodb.rights",
                     "the user lacks rights that a client needs: " + listed(facts.lacks),
                     "grant them, or the role readWrite; docs/stores/mongodb.md lists what is enough"});
  if (!facts.lacks_for_jobs.empty())
    found.push_back(
        {Severity::note, "mongodb.rights-of-jobs",
         "the user lacks rights for jobs: " + listed(facts.lacks_for_jobs) + "; leases work without them",
         "for jobs, grant them, or the role readWrite"});
  if (!facts.unseen.empty())
    found.push_back({Severity::note, "mongodb.unseen",
                     "doctor cannot see everything, because the user may not ask or the server does not know "
                     "the command: " +
                         listed(facts.unseen),
                     "run doctor as a user with the role clusterMonitor"});
}

std::string name_of(const ServerProbe& probe, const Facts& facts) {
  const std::string what = probe.router        ? "router"
                           : probe.set.empty() ? "standalone"
                                               : "replica set " + printable(probe.set);
  return "MongoDB" + (facts.version.empty() ? "" : " " + printable(facts.version)) + ", " + what;
}

}  // namespace

Diagnosis diagnosis_of(const ServerProbe& probe, const Facts& facts, const StoreConfig& config) {
  Diagnosis diagnosis{.server = name_of(probe, facts), .findings = findings_of(probe, config)};
  std::vector<Finding>& found = diagnosis.findings;
  if (std::any_of(facts.processes.begin(), facts.processes.end(),
                  [&](const std::string& one) { return one != facts.processes.front(); }))
    found.push_back({Severity::danger, "mongodb.identity",
                     "different servers answer at this address: one may not know what another has granted",
                     "name the members of one replica set, without a proxy in front of several"});
  if (!facts.crowded.empty())
    found.push_back({Severity::warning, "mongodb.connections",
                     "the server refused a further connection, and a client needs up to three: " +
                         printable(facts.crowded),
                     "raise net.maxIncomingConnections, or run fewer clients"});
  judge_collections(facts, config, found);
  judge_durability(facts, found);
  judge_clocks(facts, found);
  judge_doors(facts, config, found);
  diagnosis.grade = core::grade_of(Grade::B, found);
  core::mark_accepted(found, config.accepted());
  return diagnosis;
}

}  // namespace holdfast::mongodb
