// SPDX-License-Identifier: Apache-2.0
#include "stores/mongodb/findings.h"

#include "base/text.h"
#include "core/grade.h"

namespace holdfast::mongodb {
namespace {

void judge_server(const Hello& hello, const Site& site, std::vector<Finding>& found) {
  if (hello.old)
    found.push_back({Weight::danger, "mongodb.version", site.place + about_age, "update it", true});
  if (hello.secondary)
    found.push_back({Weight::danger, "mongodb.replica", site.place + " is not the primary",
                     "name the whole set with replicaSet=", true});
  if (hello.router)
    found.push_back({Weight::danger, "mongodb.router", about_router, "name a replica set of its own", true});
  if (!hello.streams())
    found.push_back(
        {Weight::warning, "mongodb.standalone",
         "the server stands alone: a majority is this one, its disk is all there is, and waiters have to "
         "ask again and again, as only a replica set tells them",
         "make it a replica set of one or three"});
}

void judge_way(const Hello& hello, const Site& site, std::vector<Finding>& found) {
  if (site.tls && site.verified) return;
  // What may not be told in plaintext is not told to a member elsewhere at all.
  const bool followed = !hello.elsewhere.empty() && (site.tls || site.plaintext_allowed);
  if (site.local && !followed) return;
  const std::string place = site.local ? hello.elsewhere : site.place;
  found.push_back(
      {Weight::warning, "mongodb.tls",
       site.tls
           ? "the certificate of " + place + " is not looked at: anybody on the way can answer in its place"
           : "everything travels in the clear to " + place + ", and whoever is on the way can change it",
       site.tls ? "name the authority with tlsCAFile=" : "write tls=true"});
}

}  // namespace

std::string about_index(const std::string& name) {
  return "the index " + printable(name) +
         " lets documents vanish by themselves, and tokens with them: they could fall";
}

std::vector<Finding> findings_of(const Hello& hello, const Site& site) {
  std::vector<Finding> found;
  judge_server(hello, site, found);
  if (!hello.odd.empty())
    found.push_back({Weight::danger, "mongodb.collection",
                     "the collection \"" + printable(site.leases()) + "\" " + hello.odd,
                     "name another one with collection=", true});
  if (!hello.vanishing_index.empty())
    found.push_back({Weight::danger, "mongodb.ttl-index", about_index(hello.vanishing_index),
                     "drop it, or name another collection", true});
  judge_way(hello, site, found);
  if (site.beside_the_gem())
    found.push_back(
        {Weight::warning, "mongodb.layout",
         "layout=mongo-lock: a Ruby process may insert its document beside ours at the same moment, extend "
         "ours as its own, or delete all; docs/stores/mongodb.md tells more",
         "move on to the native layout when the last Ruby process has gone"});
  core::hush(found, site.accepted());
  return found;
}

}  // namespace holdfast::mongodb
