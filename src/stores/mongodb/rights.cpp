// SPDX-License-Identifier: Apache-2.0
#include "stores/mongodb/rights.h"

#include <algorithm>

namespace holdfast::mongodb {
namespace {

constexpr const char* on_documents[] = {"find", "insert", "update", "remove", "listIndexes"};

constexpr std::string_view far_reaching[] = {"root",
                                             "__system",
                                             "dbOwner",
                                             "userAdmin",
                                             "clusterAdmin",
                                             "readWriteAnyDatabase",
                                             "dbAdminAnyDatabase",
                                             "userAdminAnyDatabase"};

// One that is granted for a whole database names no collection; for all databases, no database.
bool covers(View resource, std::string_view database, std::string_view collection) {
  if (resource.flag("anyResource")) return true;
  if (!resource.has("db")) return false;  // of the cluster
  const std::string_view of_database = resource.text("db"), of_collection = resource.text("collection");
  return (of_database.empty() || of_database == database) &&
         (of_collection.empty() || of_collection == collection);
}

bool may(View authority, std::string_view action, std::string_view database, std::string_view collection) {
  for (const View privilege : authority.documents("authenticatedUserPrivileges")) {
    if (!covers(privilege["resource"], database, collection)) continue;
    const auto actions = privilege.texts("actions");
    if (std::find(actions.begin(), actions.end(), action) != actions.end()) return true;
  }
  return false;
}

}  // namespace

void read_rights(View status, const ServerProbe& probe, const StoreConfig& config, Facts& facts) {
  const View authority = status["authInfo"];
  if (authority.documents("authenticatedUsers").empty()) return;
  const auto need = [&](std::string_view action, const std::string& collection,
                        std::vector<std::string>& lacks) {
    if (!may(authority, action, config.database, collection))
      lacks.push_back(std::string(action) + " on " + config.database +
                      (collection.empty() ? "" : "." + collection));
  };
  need("listCollections", "", facts.lacks);
  std::vector<std::string> collections{config.leases(), config.remains()};
  if (config.beside_the_gem()) collections.push_back(config.options.collection);
  for (const std::string& collection : collections)
    for (const char* action : on_documents) need(action, collection, facts.lacks);
  if (probe.streams()) need("changeStream", config.leases(), facts.lacks);
  if (!config.beside_the_gem())
    for (const std::string& collection : {config.jobs(), config.ticks()})
      for (const char* action : on_documents) need(action, collection, facts.lacks_for_jobs);
  for (const View role : authority.documents("authenticatedUserRoles")) {
    const std::string_view name = role.text("role");
    if (std::find(std::begin(far_reaching), std::end(far_reaching), name) != std::end(far_reaching))
      facts.powers.emplace_back(name);
  }
}

}  // namespace holdfast::mongodb
