// SPDX-License-Identifier: Apache-2.0
// raw_mongodb.h - leases by hand on libmongoc: a findAndModify for each verb, on one document for each key.
#pragma once
#include <mongoc/mongoc.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bench/subject.h"

namespace holdfast::bench {

// A document of libbson's that is ended with it.
class Bson {
 public:
  explicit Bson(bson_t* made) noexcept : made_(made) {}
  ~Bson() { bson_destroy(made_); }
  Bson(Bson&& other) noexcept : made_(std::exchange(other.made_, nullptr)) {}
  Bson& operator=(Bson&&) = delete;

  bson_t* get() const noexcept { return made_; }
  // Of what it has at "value.token".  Throws if there is nothing.
  std::int64_t number(const char* path) const;
  std::string text(const char* path) const;
  bool has(const char* path) const;
  // Elements of the array there.
  std::size_t count(const char* path) const;

 private:
  bson_iter_t at(const char* path) const;

  bson_t* made_;
};

// To the database `app`.  Throws what the server or the driver says.
class MongoConnection {
 public:
  explicit MongoConnection(const std::string& url);
  Bson ask(Bson command);

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

  void acquire_and_release(const std::string& key, const std::string& owner) override;
  // Two update commands with an update for each.
  void acquire_and_release_all(const std::vector<std::string>& keys, const std::string& owner) override;
  bool is_held(const std::string& key) override;
  void ask() override;

 private:
  void update_all(Bson updates, std::size_t count);

  MongoConnection connection_;
  const Bson concern_;
};

}  // namespace holdfast::bench
