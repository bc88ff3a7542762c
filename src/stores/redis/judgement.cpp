// SPDX-License-Identifier: Apache-2.0
// What a thorough look has brought, judged.
#include <algorithm>
#include <array>
#include <charconv>

#include "base/text.h"
#include "base/url.h"
#include "core/findings.h"
#include "stores/redis/findings.h"

namespace holdfast::redis {
namespace {

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
