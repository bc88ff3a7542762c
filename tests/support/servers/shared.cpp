// SPDX-License-Identifier: Apache-2.0
#include "tests/support/servers/shared.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <stdexcept>

#include "tests/support/servers/mongo_server.h"

namespace holdfast::test {
namespace {

// Null where the tests were started by hand.
const SharedServers* of_this_run() {
  static const std::unique_ptr<const SharedServers> servers = [] {
    const char* path = std::getenv("HOLDFAST_TEST_SERVERS");
    return path == nullptr ? nullptr : std::make_unique<const SharedServers>(read_shared(path));
  }();
  return servers.get();
}

const char* mongodb_of_ones_own() { return std::getenv("HOLDFAST_TEST_MONGODB"); }

}  // namespace

PostgresOptions shared_postgres_options() {
  return {.authentication = "trust", .lines = {"max_connections = 200"}};
}

// A small log fills while many tests make their tables, and then statements wait for it.
MariaOptions shared_maria_options(bool mysql) {
  return {.lines = {"innodb_buffer_pool_size = 128M",
                    mysql ? "innodb_redo_log_capacity = 128M" : "innodb_log_file_size = 128M"},
          .mysql = mysql};
}

const PostgresAddress& shared_postgres() {
  if (const SharedServers* servers = of_this_run()) return servers->postgres;
  static const PostgresServer own(shared_postgres_options());
  return own;
}

const MariaAddress& shared_mariadb() {
  if (const SharedServers* servers = of_this_run()) return servers->mariadb;
  static const MariaServer own(shared_maria_options(false));
  return own;
}

const MariaAddress& shared_mysql() {
  if (const SharedServers* servers = of_this_run()) return servers->mysql;
  static const MariaServer own(shared_maria_options(true));
  return own;
}

const MongoAddress& shared_mongodb() {
  if (const char* url = mongodb_of_ones_own()) {
    static const MongoAddress theirs(url);
    return theirs;
  }
  if (const SharedServers* servers = of_this_run()) return servers->mongodb;
  static const MongoServer own;
  return own;
}

std::string shared_mongodb_missing() { return mongodb_of_ones_own() == nullptr ? mongodb_missing() : ""; }

bool shared_mongodb_has_streams() {
  return mongodb_of_ones_own() != nullptr &&
         shared_mongodb().command("admin", R"({"hello": 1})").find("\"setName\"") != std::string::npos;
}

const std::string& postgres_template() {
  if (const SharedServers* servers = of_this_run()) return servers->postgres_template;
  static const PostgresTemplate own;
  static const std::string data = own.data();
  return data;
}

const std::string& mariadb_template() {
  if (const SharedServers* servers = of_this_run()) return servers->mariadb_template;
  static const MariaTemplate own;
  static const std::string data = own.data();
  return data;
}

void write_shared(const std::string& path, const SharedServers& servers) {
  std::ofstream file(path + ".new");
  file << "pid " << servers.pid << "\npostgres_port " << servers.postgres.port << "\npostgres_socket_folder "
       << servers.postgres.socket_folder << "\npostgres_template " << servers.postgres_template
       << "\nmariadb_port " << servers.mariadb.port() << "\nmariadb_socket " << servers.mariadb.socket()
       << "\nmariadb_template " << servers.mariadb_template << "\nmysql_port " << servers.mysql.port()
       << "\nmysql_socket " << servers.mysql.socket() << "\nmongodb " << servers.mongodb.whole() << '\n';
  file.close();
  if (!file) throw std::runtime_error("cannot write " + path);
  std::filesystem::rename(path + ".new", path);
}

SharedServers read_shared(const std::string& path) {
  std::ifstream file(path);
  std::map<std::string, std::string> said;
  for (std::string name, value; file >> name && file.get() && std::getline(file, value);) said[name] = value;
  const auto number = [&](const char* name) { return std::atoi(said[name].c_str()); };

  if (number("pid") == 0) throw std::runtime_error(path + " does not say where the servers of this run are");
  return {.pid = number("pid"),
          .postgres = {.port = number("postgres_port"), .socket_folder = said["postgres_socket_folder"]},
          .mariadb = {false, number("mariadb_port"), said["mariadb_socket"]},
          .mysql = {true, number("mysql_port"), said["mysql_socket"]},
          .mongodb = MongoAddress(said["mongodb"]),
          .postgres_template = said["postgres_template"],
          .mariadb_template = said["mariadb_template"]};
}

}  // namespace holdfast::test
