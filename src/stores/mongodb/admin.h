// SPDX-License-Identifier: Apache-2.0
// admin.h - plan, init and purge, and the indexes of the collections.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "holdfast/spi/store.h"
#include "stores/mongodb/connection.h"

namespace holdfast::mongodb {

// The indexes that queries name.
inline constexpr const char *ready_index = "ready", *wake_index = "wake", *waits_index = "waits";

// The command that creates the indexes that are missing, or none; `make` also sends it.  Throws Failure.
//
// The indexes of leases make listing fast, and nothing depends on them.
std::vector<std::string> lease_indexes(Connection& connection, bool make, Instant until);
std::vector<std::string> job_indexes(Connection& connection, bool make, Instant until);

// MongoDB creates collections by itself, and leases need only the index on _id.  `init` creates indexes: for
// listing leases, which the first acquire also creates; for jobs, which an engine also creates when it
// connects; and beside the gem, its two.
class MongoStoreAdmin final : public StoreAdmin {
 public:
  explicit MongoStoreAdmin(std::shared_ptr<const StoreConfig> config) : connection_(std::move(config)) {}

  Result<std::vector<std::string>> plan(Instant until) override;
  Result<std::vector<std::string>> init(Instant until) override;
  std::string statements() const override;
  Result<Purged> purge(const Purge& what, Instant until) override;
  Result<Diagnosis> diagnose(Instant until) override;

 private:
  std::vector<std::string> indexes(bool make, Instant until);
  // Removes from all documents of leases what count_PART of leases.json finds there, and returns how much.
  std::uint64_t remove_parts(const char* field, std::string_view part, Micros cut, Instant until);
  std::uint64_t remove_documents(const std::string& collection, const char* field, Micros cut, Instant until);
  std::uint64_t purge_keys(Micros cut, Micros now, Instant until);
  void keep_remains(const std::vector<View>& documents, Instant until);
  void add_free_for_shedlock(Document& match, Micros cut) const;
  std::uint64_t delete_unchanged(const std::vector<View>& documents, Micros cut, Instant until);

  Connection connection_;
};

}  // namespace holdfast::mongodb
