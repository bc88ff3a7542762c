// SPDX-License-Identifier: Apache-2.0
#include "tests/support/own_servers.h"

#include "holdfast/client.h"
#include "holdfast/spi/store.h"
#include "tests/support/servers/maria_server.h"
#include "tests/support/servers/mongo_server.h"
#include "tests/support/servers/postgres_server.h"
#include "tests/support/servers/redis_server.h"

namespace holdfast::test {
namespace {

template <class Server>
class Owned : public OwnServer {
 public:
  template <class Options>
  explicit Owned(Options options) : server_(std::move(options)) {}

  void stop() override { server_.stop(); }
  void kill() override { server_.kill(); }
  void start() override { server_.start(); }
  void pause() override { server_.pause(); }
  void resume() override { server_.resume(); }

 protected:
  Server server_;
};

#ifdef HOLDFAST_POSTGRES
class OwnPostgres final : public Owned<PostgresServer> {
 public:
  // What is killed here is a process and not the machine: without fsync nothing is lost.
  OwnPostgres() : Owned(PostgresOptions{.fsync = false}) {
    server_.execute(std::string("CREATE ROLE tester LOGIN PASSWORD '") + password + "'");
    server_.execute("CREATE DATABASE leases OWNER tester");
  }
  std::string url(const std::string& with_password) const override {
    return server_.url("tester", "leases", with_password);
  }
};
#endif

#ifdef HOLDFAST_REDIS
class OwnRedis final : public Owned<RedisServer> {
 public:
  OwnRedis() : Owned(RedisOptions{.lines = {written_at_once}, .password = password}) {}
  std::string url(const std::string& with_password) const override {
    return "redis://:" + with_password + "@127.0.0.1:" + std::to_string(server_.port());
  }
};
#endif

#ifdef HOLDFAST_MONGODB
// This engine accepts everybody, and does not understand a login.
class OwnMongo final : public Owned<MongoServer> {
 public:
  OwnMongo() : Owned(MongoOptions{}) {}
  std::string url(const std::string&) const override { return server_.url("leases"); }
};
#endif

#ifdef HOLDFAST_MARIADB
class OwnMaria final : public Owned<MariaServer> {
 public:
  explicit OwnMaria(bool mysql) : Owned(MariaOptions{.password = password, .mysql = mysql, .fsync = false}) {}
  std::string url(const std::string& with_password) const override {
    return server_.url("app", "app", with_password);
  }
};
#endif

std::vector<ServerKind> find_server_kinds() {
  std::vector<ServerKind> kinds;
#ifdef HOLDFAST_POSTGRES
  if (postgres_missing().empty())
    kinds.push_back({"postgres", [] { return std::make_unique<OwnPostgres>(); }});
#endif
#ifdef HOLDFAST_REDIS
  if (redis_missing().empty()) kinds.push_back({"redis", [] { return std::make_unique<OwnRedis>(); }});
#endif
#ifdef HOLDFAST_MONGODB
  if (mongodb_missing().empty())
    kinds.push_back({"mongodb", [] { return std::make_unique<OwnMongo>(); }, false});
#endif
#ifdef HOLDFAST_MARIADB
  if (mariadb_missing().empty())
    kinds.push_back({"mariadb", [] { return std::make_unique<OwnMaria>(false); }});
  if (mysql_missing().empty()) kinds.push_back({"mysql", [] { return std::make_unique<OwnMaria>(true); }});
#endif
  return kinds;
}

}  // namespace

void OwnServer::make_tables() const {
  (void)try_store(url()).value()->admin()->init(BootClock::now() + std::chrono::seconds(20)).value();
}

std::vector<ServerKind> server_kinds() {
  static const std::vector<ServerKind> found = find_server_kinds();
  return found;
}

std::vector<ServerKind> strict_server_kinds() {
  std::vector<ServerKind> kinds = server_kinds();
  std::erase_if(kinds, [](const ServerKind& kind) { return !kind.passwords; });
  return kinds;
}

}  // namespace holdfast::test
