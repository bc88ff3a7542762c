// SPDX-License-Identifier: Apache-2.0
// The databases that are servers: each is opened by its URL, as a user opens it.
#include <cstdlib>

#include "base/random.h"
#include "holdfast/client.h"
#include "tests/support/databases.h"
#include "tests/support/servers/redis_server.h"
#include "tests/support/servers/shared.h"

namespace holdfast::test {
namespace {

void make_tables(const std::string& url) {
  const auto origin = try_origin(url).value();
  (void)origin->steward()->init(BootClock::now() + std::chrono::seconds(20)).value();
}

class PostgresDatabase final : public TestDatabase {
 public:
  PostgresDatabase() {
    shared_postgres().execute("CREATE SCHEMA " + schema_);
    make_tables(url());
  }
  ~PostgresDatabase() override {
    try {
      shared_postgres().execute("DROP SCHEMA " + schema_ + " CASCADE");
    } catch (const std::exception&) {
      // It goes with the server.
    }
  }
  std::shared_ptr<Origin> new_client() override { return try_origin(url()).value(); }
  std::string url() const override {
    return shared_postgres().url("postgres", "postgres", "") + "?table=" + schema_ + ".locks";
  }
  std::shared_ptr<void> hang() override {
    // Others share the server: only our table is locked.
    return shared_postgres().leave_open("BEGIN; LOCK TABLE " + schema_ + ".locks IN ACCESS EXCLUSIVE MODE");
  }

 private:
  const std::string schema_ = "t_" + random_hex(16);
};

class RedisDatabase final : public TestDatabase {
 public:
  RedisDatabase() { make_tables(url()); }
  std::shared_ptr<Origin> new_client() override { return try_origin(url()).value(); }
  bool has_tables() const override { return false; }
  std::string url() const override { return server_.url(); }
  std::shared_ptr<void> hang() override {
    server_.pause();
    return {&server_, [](RedisServer* server) { server->resume(); }};
  }

 private:
  RedisServer server_;
};

class MongoDatabase final : public TestDatabase {
 public:
  explicit MongoDatabase(std::string layout) : layout_(std::move(layout)) { make_tables(url()); }
  std::shared_ptr<Origin> new_client() override { return try_origin(url()).value(); }
  bool has_tables() const override { return layout_ == "mongo-lock"; }
  std::string url() const override {
    return std::string(std::getenv("HOLDFAST_TEST_MONGODB")) + "/" + name_ + "?layout=" + layout_;
  }

 private:
  const std::string layout_, name_ = "t_" + random_hex(16);
};

}  // namespace

std::unique_ptr<TestDatabase> make_mongodb_database() { return std::make_unique<MongoDatabase>("own"); }
std::unique_ptr<TestDatabase> make_mongo_lock_database() {
  return std::make_unique<MongoDatabase>("mongo-lock");
}
std::string own_mongodb_missing() {
  return std::getenv("HOLDFAST_TEST_MONGODB") ? "" : "HOLDFAST_TEST_MONGODB names no server";
}

std::unique_ptr<TestDatabase> make_postgres_database() { return std::make_unique<PostgresDatabase>(); }
std::unique_ptr<TestDatabase> make_redis_database() { return std::make_unique<RedisDatabase>(); }

}  // namespace holdfast::test
