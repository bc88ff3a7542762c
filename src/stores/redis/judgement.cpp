// SPDX-License-Identifier: Apache-2.0
// What a thorough look has brought, judged.
#include <algorithm>
#include <array>
#include <charconv>

#include "base/address.h"
#include "base/text.h"
#include "core/grade.h"
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
    found.push_back({Weight::note, "redis.kind",
                     "the server is " + kind.name + ", a relative of Redis on which this was never tested",
                     "run doctor's self-test there before you trust it"});
    return;
  }
  const std::string holes = kind.version.empty() ? "" : holes_of(version_of(kind.version));
  if (!holes.empty())
    found.push_back({Weight::note, "redis.known-holes",
                     "Redis " + printable(kind.version) + " has, by its number, " + holes +
                         ": whoever may run scripts or wait there may get hold of the server; a "
                         "distribution may have mended it without another number",
                     "ask your vendor, or update"});
}

void judge_others(const Facts& facts, const StoreConfig& config, std::vector<Finding>& found) {
  if (facts.others == 0) return;
  found.push_back({Weight::note, "redis.other-keys",
                   (facts.others_counted ? "" : "at least ") + std::to_string(facts.others) +
                       (facts.others == 1 ? " key looks" : " keys look") +
                       " like no lease (no expiry, no owner of ours), as \"" + printable(facts.other) +
                       "\": a lease of such a name is refused",
                   std::string("keep leases apart with ") +
                       (config.options.prefix.empty() ? "a" : "another") + " prefix= in the URL"});
}

bool always(const ServerInfo& info, const Facts& facts) {
  return info["aof_enabled"] == "1" && facts.appendfsync == "always";
}

void judge_durability(const ServerInfo& info, const Facts& facts, std::vector<Finding>& found) {
  if (info["aof_enabled"] == "1" && !facts.appendfsync.empty() && facts.appendfsync != "always")
    found.push_back({Weight::warning, "redis.appendfsync",
                     "appendfsync is " + printable(facts.appendfsync) +
                         ": a power cut can take the last seconds, and grants that were told with them",
                     "set appendfsync always, or fence what leases protect"});
  if (!info["uptime_in_seconds"].empty() && info.number("uptime_in_seconds") < 60 && !always(info, facts))
    found.push_back({Weight::warning, "redis.restarted",
                     "the server was started " + std::string(info["uptime_in_seconds"]) +
                         " seconds ago and may have forgotten grants in whose time their holders still "
                         "believe",
                     "wait for the longest ttl in use before you trust it; set appendonly yes and "
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
    found.push_back({Weight::warning, "redis.no-password",
                     "the server wants no password, and others than this machine reach it: anybody there can "
                     "free a lease, or take everything away",
                     "give it users and passwords, or let it listen on this machine only"});
  if (facts.almighty)
    found.push_back({Weight::note, "redis.account",
                     std::string("the user may do more than leases need, FLUSHALL among it: whoever ") +
                         (shows_who ? "learns what it logs in with may, too" : "reaches the server may, too"),
                     "give leases a user with the rights that docs/stores/redis.md lists"});
  if (!facts.maxmemory_clients.empty() && facts.maxmemory_clients != "0")
    found.push_back({Weight::note, "redis.client-eviction",
                     "the server hangs up on clients when they take too much memory (maxmemory-clients " +
                         printable(facts.maxmemory_clients) +
                         "): those that wait are then not told at once that a key is free, and ask",
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
        {Weight::danger, "redis.rights",
         "the user may not run " + listed(facts.lacks, "", ", ") + ", or not on the keys of leases",
         grant(facts.lacks, config) + " (docs/stores/redis.md lists all that is needed)"});
  if (!facts.lacks_for_jobs.empty())
    found.push_back({Weight::note, "redis.rights-of-jobs",
                     "the user may not run " + listed(facts.lacks_for_jobs, "", ", ") +
                         ": no jobs can be kept there; leases can",
                     "for jobs: " + grant(facts.lacks_for_jobs, config)});
  for (const std::string& unseen : facts.unseen)
    found.push_back({Weight::note, "redis.unseen", unseen, "ask again as a user who may"});
}

}  // namespace

Diagnosis diagnosis_of(const ServerInfo& info, const Facts& facts, const StoreConfig& config) {
  const Kind kind = kind_of(info);
  Diagnosis diagnosis{.server = kind.name + (kind.version.empty() ? "" : " " + printable(kind.version)),
                      .findings = findings_of(info, config)};
  std::vector<Finding>& found = diagnosis.findings;
  if (std::any_of(facts.run_ids.begin(), facts.run_ids.end(),
                  [&](const std::string& id) { return id != facts.run_ids.front(); }))
    found.push_back(
        {Weight::danger, "redis.identity",
         "different servers answer by this one address: what one has granted another does not know",
         "name one server, and no proxy before several"});
  if (!facts.crowded.empty())
    found.push_back(
        {Weight::warning, "redis.connections",
         "no further connection was let in, and a client needs up to three: " + printable(facts.crowded),
         "a higher maxclients, or fewer clients"});
  judge_others(facts, config, found);
  judge_rights(facts, config, found);
  judge_durability(info, facts, found);
  judge_doors(facts, config, found);
  judge_kind(kind, found);
  // With every grant on disk before it is told, and nobody else to take over, a crash forgets nothing.
  diagnosis.grade = core::grade_of(always(info, facts) ? 'B' : 'C', found);
  core::hush(found, config.accepted());
  return diagnosis;
}

}  // namespace holdfast::redis
