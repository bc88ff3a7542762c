// SPDX-License-Identifier: Apache-2.0
#include "tests/support/servers/shared.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>
#include <stdexcept>

#include "tests/support/servers/postgres_server.h"

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

}  // namespace

PostgresOptions shared_postgres_options() {
  return {.authentication = "trust", .lines = {"max_connections = 200"}};
}

const PostgresAddress& shared_postgres() {
  if (const SharedServers* servers = of_this_run()) return servers->postgres;
  static const PostgresServer own(shared_postgres_options());
  return own;
}

const std::string& postgres_template() {
  if (const SharedServers* servers = of_this_run()) return servers->postgres_template;
  static const PostgresTemplate own;
  static const std::string data = own.data();
  return data;
}

void write_shared(const std::string& path, const SharedServers& servers) {
  std::ofstream file(path + ".new");
  file << "pid " << servers.pid << "\npostgres_port " << servers.postgres.port << "\npostgres_socket_folder "
       << servers.postgres.socket_folder << "\npostgres_template " << servers.postgres_template << '\n';
  file.close();
  if (!file) throw std::runtime_error("cannot write " + path);
  std::filesystem::rename(path + ".new", path);
}

SharedServers read_shared(const std::string& path) {
  std::ifstream file(path);
  SharedServers servers;
  std::string line;
  while (std::getline(file, line)) {
    std::stringstream words(line);
    std::string name;
    words >> name >> std::ws;
    if (name == "pid") words >> servers.pid;
    if (name == "postgres_port") words >> servers.postgres.port;
    if (name == "postgres_socket_folder") std::getline(words, servers.postgres.socket_folder);
    if (name == "postgres_template") std::getline(words, servers.postgres_template);
  }
  if (servers.pid == 0) throw std::runtime_error(path + " does not say where the servers of this run are");
  return servers;
}

}  // namespace holdfast::test
