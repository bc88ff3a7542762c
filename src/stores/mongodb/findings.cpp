// SPDX-License-Identifier: Apache-2.0
#include "stores/mongodb/findings.h"

#include "base/text.h"
#include "core/findings.h"

namespace holdfast::mongodb {
namespace {

void judge_server(const ServerProbe& probe, const StoreConfig& config, std::vector<Finding>& found) {
  if (probe.old)
    found.push_back({Severity::danger, "mongodb.version", config.place + about_age, "upgrade it", true});
  if (probe.secondary)
    found.push_back({Severity::danger, "mongodb.replica", config.place + " is not the primary",
                     "name the whole replica set with replicaSet=", true});
  if (probe.router)
    found.push_back({Severity::danger, "mongodb.router", about_router, "use the URL of a replica set", true});
  if (!probe.streams())
    found.push_back(
        {Severity::warning, "mongodb.standalone",
         "the server is not in a replica set: its disk has the only copy of the leases, and waiters have to "
         "poll, because only a replica set can notify them",
         "make it a replica set of one or three members"});
}

void judge_way(const ServerProbe& probe, const StoreConfig& config, std::vector<Finding>& found) {
  if (config.tls && config.verified) return;
  // What may not be told in plaintext is not told to a member elsewhere at all.
  const bool followed = !probe.elsewhere.empty() && (config.tls || config.plaintext_allowed);
  if (config.local && !followed) return;
  const std::string place = config.local ? probe.elsewhere : config.place;
  found.push_back(
      {Severity::warning, "mongodb.tls",
       config.tls
           ? "the certificate of " + place + " is not checked: another machine can answer in its place"
           : "everything is sent unencrypted to " + place + ": others on the network can read and change it",
       config.tls ? "give the certificate of its authority with tlsCAFile=" : "write tls=true"});
}

}  // namespace

std::string about_index(const std::string& name) {
  return "the index " + printable(name) +
         " deletes documents after a time, and their tokens with them: a later token could be smaller";
}

std::vector<Finding> findings_of(const ServerProbe& probe, const StoreConfig& config) {
  std::vector<Finding> found;
  judge_server(probe, config, found);
  if (!probe.odd.empty())
    found.push_back({Severity::danger, "mongodb.collection",
                     "the collection \"" + printable(config.leases()) + "\" " + probe.odd,
                     "name another one with collection=", true});
  if (!probe.vanishing_index.empty())
    found.push_back({Severity::danger, "mongodb.ttl-index", about_index(probe.vanishing_index),
                     "drop it, or name another collection", true});
  judge_way(probe, config, found);
  if (config.beside_the_gem())
    found.push_back(
        {Severity::warning, "mongodb.layout",
         "layout=mongo-lock: a Ruby process may insert a document beside ours at the same moment, extend "
         "ours as its own, or delete all; see docs/stores/mongodb.md",
         "switch to the native layout once no Ruby process uses the collection"});
  core::mark_accepted(found, config.accepted());
  return found;
}

}  // namespace holdfast::mongodb
