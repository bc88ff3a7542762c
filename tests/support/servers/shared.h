// SPDX-License-Identifier: Apache-2.0
// shared.h - what the tests of one ctest run share, because it is slow to start.
//
// ctest has the fixture `servers` start them before the first test that NEEDS servers, and end them after the
// last; the environment variable HOLDFAST_TEST_SERVERS names the file that says where they are.  A test
// program that is run by hand, without it, starts its own on first use, which end with it.
#pragma once
#include <string>

#include "tests/support/servers/postgres_server.h"

namespace holdfast::test {

// Trusts everybody, so that URLs need no password: that is kept from the command under `holdfast run`.
PostgresOptions shared_postgres_options();

// REQUIRES: postgres_missing() is empty.  Make a schema or a database of your own in it, and leave its
// processes alone: to stop, kill or configure one, start a PostgresServer.
const PostgresAddress& shared_postgres();

// The folder that initdb made, to copy.
const std::string& postgres_template();

// What the file says.
struct SharedServers {
  int pid = 0;  // of the process that has them
  PostgresAddress postgres;
  std::string postgres_template;
};
void write_shared(const std::string& path, const SharedServers& servers);
SharedServers read_shared(const std::string& path);

}  // namespace holdfast::test
