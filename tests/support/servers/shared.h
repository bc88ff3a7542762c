// SPDX-License-Identifier: Apache-2.0
// shared.h - what the tests of one ctest run share, because it is slow to start.
//
// ctest has the fixture `servers` start them before the first test that NEEDS servers, and end them after the
// last; the environment variable HOLDFAST_TEST_SERVERS names the file with their addresses.  A test program
// that is run by hand, without it, starts its own on first use, which end with it.
#pragma once
#include <string>

#include "tests/support/servers/maria_server.h"
#include "tests/support/servers/mongo_address.h"
#include "tests/support/servers/postgres_server.h"

namespace holdfast::test {

// Make a schema or a database of your own in them, and leave their processes alone: to stop, kill or
// configure one, start a server of your own.  Nobody needs a password, so that URLs have none: that would be
// kept from the command under `holdfast run`.
PostgresOptions shared_postgres_options();
MariaOptions shared_maria_options(bool mysql);
const PostgresAddress& shared_postgres();  // REQUIRES: postgres_missing() is empty
const MariaAddress& shared_mariadb();      // REQUIRES: mariadb_missing() is empty
const MariaAddress& shared_mysql();        // REQUIRES: mysql_missing() is empty
const MongoAddress& shared_mongodb();      // REQUIRES: shared_mongodb_missing() is empty

// A MongoDB that HOLDFAST_TEST_MONGODB names is shared in place of one of ours.
std::string shared_mongodb_missing();
bool shared_mongodb_has_streams();  // it is a replica set; ours is none

// The folders that initdb and mariadb-install-db made, to copy.
const std::string& postgres_template();
const std::string& mariadb_template();

// The content of the file.
struct SharedServers {
  int pid = 0;  // of the process that has them
  PostgresAddress postgres{};
  MariaAddress mariadb{}, mysql{};
  MongoAddress mongodb{};
  std::string postgres_template{}, mariadb_template{};
};
void write_shared(const std::string& path, const SharedServers& servers);
SharedServers read_shared(const std::string& path);

}  // namespace holdfast::test
