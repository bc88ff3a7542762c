// SPDX-License-Identifier: Apache-2.0
// raw_mongodb.h - leases by hand on libmongoc: a findAndModify for each verb, on one document for each key.
#pragma once
#include <mongoc/mongoc.h>

#include <memory>
#include <string>
#include <vector>

#include "bench/subject.h"
#include "stores/mongodb/bson.h"

namespace holdfast::bench {

// To the database `app`.  Throws what the server or the driver says.
class MongoConnection {
 public:
  explicit MongoConnection(const std::string& url);
  mongodb::Document ask(const mongodb::Document& command);

 private:
  struct Free {
    void operator()(mongoc_client_t* client) const noexcept { mongoc_client_destroy(client); }
  };
  std::unique_ptr<mongoc_client_t, Free> client_;
};

class RawMongo final : public ByHand {
 public:
  // journalled: a majority has it on its disk, as leases want it.  memory: one has it, somewhere.
  enum class Concern { journalled, memory };
  RawMongo(const std::string& url, Concern concern);

  void acquire_and_release(const std::string& key, const std::string& holder) override;
  // Two update commands with an update for each.
  void acquire_and_release_all(const std::vector<std::string>& keys, const std::string& holder) override;
  bool is_held(const std::string& key) override;
  void ask() override;

 private:
  void update_all(std::vector<mongodb::Document> updates);

  MongoConnection connection_;
  mongodb::Document concern_;
};

}  // namespace holdfast::bench
