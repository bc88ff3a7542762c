// SPDX-License-Identifier: Apache-2.0
// probe.h - the first words on every connection: how we want it, who answers, and what is there.
#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/table_version.h"
#include "stores/mariadb/connection.h"

namespace holdfast::mariadb {

// What is wrong about a table.
enum class Flaw : std::uint8_t {
  column,     // one is missing, or of another type
  engine,     // it is not kept by InnoDB
  collation,  // two keys can be one
};

struct ServerProbe {
  std::string version = {}, database = {};
  std::map<std::string, std::string, std::less<>> settings = {};  // of the server, by their names
  Micros now{};                                                   // the server's clock
  Instant asked{}, answered{};
  bool clock_stands = false;  // sysdate_is_now: while a statement waits, its clock does not go on
  bool replicates = false;    // another server's log, as far as MariaDB tells everybody

  std::string wrong = {};                 // what cannot be used, in a sentence; empty: nothing
  Flaw flaw = Flaw::column;               // of what is wrong
  std::vector<std::string> missing = {};  // tables, or "state_row"
  core::TableVersion table_version = {};
  bool ttl = false;                                // the lock table records how long leases are granted for
  std::string key_type = {};                       // of the column `key` of our tables
  std::size_t longest_key = 0, longest_owner = 0;  // in bytes; in letters beside another program's table
  std::size_t longest_mark = 0;  // letters in the column of that table which says whose a lock is

  std::optional<Trouble> denied = {};  // what this user may not even look at

  // The same of the tables of jobs, which leases do without.
  std::string wrong_jobs = {};
  std::vector<std::string> missing_jobs = {};

  bool mariadb() const { return version.find("MariaDB") != std::string::npos; }
  int release() const;  // 1011 for 10.11
  bool is(std::string_view setting, std::string_view value) const;
  // The value of {patience}: the words in front of a statement that waits for rows, less than a second.
  std::string wait_at_most(Millis patience) const;
  bool too_old() const { return release() < (mariadb() ? 1006 : 800); }
  bool logs_statements() const { return is("log_bin", "ON") && is("binlog_format", "STATEMENT"); }
};

// What is wrong, and who mends it, where the table `state` has not its one row.
std::string no_state_row(const StoreConfig& config);

// Throws Failure.
ServerProbe probe_server(Connection& connection, const StoreConfig& config, Instant until);

// Errc::refused, if only a newer Holdfast can use them; throws Failure.
void require_known(const ServerProbe& probe, const StoreConfig& config);
// Errc::refused or unprepared, if leases cannot be kept there; throws Failure.
void require_complete(const ServerProbe& probe, const StoreConfig& config);
// The same of jobs, where leases can be kept.
void require_jobs(const ServerProbe& probe, const StoreConfig& config);

}  // namespace holdfast::mariadb
