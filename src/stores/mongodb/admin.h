// SPDX-License-Identifier: Apache-2.0
// admin.h - what people do to the collections.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "holdfast/spi/store.h"
#include "stores/mongodb/connection.h"

namespace holdfast::mongodb {

// MongoDB makes collections by itself, and the index on _id is all that leases need.  What is made are
// indexes: for listing leases, which the first acquire also makes; for jobs, which an engine also makes when
// it connects; and beside the gem, its two.
class MongoStoreAdmin final : public StoreAdmin {
 public:
  explicit MongoStoreAdmin(std::shared_ptr<const StoreConfig> config) : connection_(std::move(config)) {}

  Result<std::vector<std::string>> plan(Instant until) override;
  Result<std::vector<std::string>> init(Instant until) override;
  Result<Purged> purge(const Purge& what, Instant until) override;
  Result<Diagnosis> diagnose(Instant until) override;

 private:
  std::vector<std::string> indexes(bool make, Instant until);
  // Of all documents that match: counts what `part` of pipelines/purge.json finds, and takes it away.
  std::uint64_t take_parts(const char* field, std::string_view part, Micros cut, Instant until);
  std::uint64_t take_documents(const std::string& collection, const char* field, Micros cut, Instant until);
  std::uint64_t purge_keys(Micros cut, Micros now, Instant until);
  void keep_remains(const std::vector<View>& documents, Instant until);
  std::uint64_t delete_unchanged(const std::vector<View>& documents, Instant until);

  Connection connection_;
};

}  // namespace holdfast::mongodb
