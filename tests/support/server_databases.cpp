// SPDX-License-Identifier: Apache-2.0
// The databases that are servers: each is opened by its URL, as a user opens it.
#include "base/random.h"
#include "holdfast/client.h"
#include "holdfast/spi/store.h"
#include "tests/support/databases.h"
#include "tests/support/servers/mongo_server.h"
#include "tests/support/servers/redis_server.h"
#include "tests/support/servers/shared.h"

namespace holdfast::test {
namespace {

void make_tables(const std::string& url) {
  const auto store = try_store(url).value();
  (void)store->admin()->init(BootClock::now() + std::chrono::seconds(20)).value();
}

class PostgresDatabase final : public TestDatabase {
 public:
  explicit PostgresDatabase(bool shedlock = false) : shedlock_(shedlock) {
    shared_postgres().execute("CREATE SCHEMA " + schema_);
    if (shedlock)
      shared_postgres().execute("CREATE TABLE " + schema_ +
                                ".shedlock (name varchar(512) PRIMARY KEY, lock_until timestamp NOT NULL, "
                                "locked_at timestamp NOT NULL, locked_by varchar(255) NOT NULL)");
    make_tables(url());
  }
  ~PostgresDatabase() override {
    try {
      shared_postgres().execute("DROP SCHEMA " + schema_ + " CASCADE");
    } catch (const std::exception&) {
      // It goes with the server.
    }
  }
  std::shared_ptr<Store> new_client() override { return try_store(url()).value(); }
  std::string url() const override {
    return shared_postgres().url("postgres", "postgres", "") +
           (shedlock_ ? "?layout=shedlock&unsafe=allow&table=" : "?table=") + schema_ + table();
  }
  std::shared_ptr<void> hang() override {
    // Others share the server: only our table is locked.
    return shared_postgres().leave_open("BEGIN; LOCK TABLE " + schema_ + table() +
                                        " IN ACCESS EXCLUSIVE MODE");
  }

 private:
  const char* table() const { return shedlock_ ? ".shedlock" : ".locks"; }
  const bool shedlock_;
  const std::string schema_ = "t_" + random_hex(16);
};

class RedisDatabase final : public TestDatabase {
 public:
  explicit RedisDatabase(std::string parameters) : parameters_(std::move(parameters)) { make_tables(url()); }
  std::shared_ptr<Store> new_client() override { return try_store(url()).value(); }
  bool has_tables() const override { return false; }
  std::string url() const override { return server_.url() + parameters_; }
  std::shared_ptr<void> hang() override {
    server_.pause();
    return {&server_, [](RedisServer* server) { server->resume(); }};
  }
  void expire(const std::vector<std::string>& keys) override {
    for (const std::string& key : keys) server_.command({"PEXPIREAT", key, "1"});
  }

 private:
  const std::string parameters_;
  RedisServer server_;
};

class MariaDatabase final : public TestDatabase {
 public:
  MariaDatabase(const MariaAddress& server, std::string parameters)
      : server_(server), parameters_(std::move(parameters)) {
    server_.query("CREATE DATABASE " + name_);
    if (parameters_.find("shedlock") != std::string::npos)
      server_.query(
          "CREATE TABLE shedlock (name VARCHAR(512) NOT NULL PRIMARY KEY, lock_until TIMESTAMP(3) NOT NULL, "
          "locked_at TIMESTAMP(3) NOT NULL DEFAULT CURRENT_TIMESTAMP(3), locked_by VARCHAR(255) NOT NULL) "
          "ENGINE=InnoDB CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin",
          name_);
    make_tables(url());
  }
  ~MariaDatabase() override {
    try {
      server_.query("DROP DATABASE " + name_);
    } catch (const std::exception&) {
      // It goes with the server.
    }
  }
  std::shared_ptr<Store> new_client() override { return try_store(url()).value(); }
  std::string url() const override { return server_.url("app", name_) + parameters_; }
  std::shared_ptr<void> hang() override {
    // Others share the server: only our tables are locked.
    const std::string tables = server_.query(
        "SELECT GROUP_CONCAT('`', table_name, '` WRITE') FROM information_schema.tables "
        "WHERE table_schema = '" +
        name_ + "'");
    return server_.leave_open("LOCK TABLES " + tables, name_);
  }

 private:
  const MariaAddress& server_;
  const std::string parameters_;
  const std::string name_ = "t_" + random_hex(16);
};

class MongoDatabase final : public TestDatabase {
 public:
  // In `own`, or else in the one that is shared.
  MongoDatabase(std::unique_ptr<MongoServer> own, std::string parameters)
      : own_(std::move(own)), parameters_(std::move(parameters)) {
    make_tables(url());
  }
  ~MongoDatabase() override {
    try {
      if (!own_) server().command(name_, R"({"dropDatabase": 1})");
    } catch (const std::exception&) {
      // It goes with the server.
    }
  }
  std::shared_ptr<Store> new_client() override { return try_store(url()).value(); }
  std::string url() const override {
    std::string url = server().url(name_);
    // The URL of somebody's own server may have options.
    if (!parameters_.empty() && url.find('?') != std::string::npos) return url + "&" + parameters_.substr(1);
    return url + parameters_;
  }
  std::shared_ptr<void> hang() override {
    own_->pause();
    return {own_.get(), [](MongoServer* server) { server->resume(); }};
  }

 private:
  const MongoAddress& server() const { return own_ ? *own_ : shared_mongodb(); }

  const std::unique_ptr<MongoServer> own_;
  const std::string parameters_;
  const std::string name_ = "t_" + random_hex(16);
};

}  // namespace

std::unique_ptr<TestDatabase> make_postgres_database() { return std::make_unique<PostgresDatabase>(); }
std::unique_ptr<TestDatabase> make_postgres_shedlock_database() {
  return std::make_unique<PostgresDatabase>(true);
}
std::unique_ptr<TestDatabase> make_redis_database(const std::string& parameters) {
  return std::make_unique<RedisDatabase>(parameters);
}
std::unique_ptr<TestDatabase> make_mariadb_database(const std::string& parameters) {
  return std::make_unique<MariaDatabase>(shared_mariadb(), parameters);
}
std::unique_ptr<TestDatabase> make_mariadb_shedlock_database() {
  return make_mariadb_database("?layout=shedlock&unsafe=allow");
}
std::unique_ptr<TestDatabase> make_mysql_database() {
  return std::make_unique<MariaDatabase>(shared_mysql(), "");
}
std::unique_ptr<TestDatabase> make_mongodb_database(const std::string& parameters) {
  return std::make_unique<MongoDatabase>(nullptr, parameters);
}
std::unique_ptr<TestDatabase> make_own_mongodb_database(const std::string& parameters) {
  return std::make_unique<MongoDatabase>(std::make_unique<MongoServer>(), parameters);
}

}  // namespace holdfast::test
