// SPDX-License-Identifier: Apache-2.0
// stores.cpp - the table of all stores: the only place outside their folders that names them.
#include "client/stores.h"

#include <algorithm>

#include "holdfast/spi/descriptor.h"
#include "stores/memory/descriptor.h"
#include "stores/sqlite/descriptor.h"
#ifdef HOLDFAST_MARIADB
#include "stores/mariadb/descriptor.h"
#endif
#ifdef HOLDFAST_MONGODB
#include "stores/mongodb/descriptor.h"
#endif
#ifdef HOLDFAST_POSTGRES
#include "stores/postgres/descriptor.h"
#endif
#ifdef HOLDFAST_REDIS
#include "stores/redis/descriptor.h"
#endif

namespace holdfast {

std::span<const StoreDescriptor> store_descriptors() {
  // In the order in which people see them.
  static const StoreDescriptor all[] = {
      sqlite::store_descriptor,
#ifdef HOLDFAST_POSTGRES
      postgres::store_descriptor,
#endif
#ifdef HOLDFAST_REDIS
      redis::store_descriptor,
#endif
#ifdef HOLDFAST_MONGODB
      mongodb::store_descriptor,
#endif
#ifdef HOLDFAST_MARIADB
      mariadb::store_descriptor,
#endif
      memory::store_descriptor,
  };
  return all;
}

std::span<const std::string_view> schemes_not_built() {
  static constexpr std::string_view all[] = {
      "",  // for a build that has everything
#ifndef HOLDFAST_POSTGRES
      "postgres", "postgresql",
#endif
#ifndef HOLDFAST_REDIS
      "redis",    "rediss",      "redis+unix",
#endif
#ifndef HOLDFAST_MONGODB
      "mongodb",  "mongodb+srv",
#endif
#ifndef HOLDFAST_MARIADB
      "mariadb",  "mysql",
#endif
  };
  return std::span(all).subspan(1);
}

const StoreDescriptor* descriptor_of(std::string_view url) {
  const std::string_view scheme = url.substr(0, url.find(':'));
  if (scheme.size() == url.size()) return nullptr;
  for (const StoreDescriptor& store : store_descriptors()) {
    if (std::find(store.schemes.begin(), store.schemes.end(), scheme) != store.schemes.end()) return &store;
  }
  return nullptr;
}

const StoreDescriptor& default_store() {
  const auto all = store_descriptors();
  return *std::find_if(all.begin(), all.end(),
                       [](const StoreDescriptor& store) { return store.default_url != nullptr; });
}

}  // namespace holdfast
