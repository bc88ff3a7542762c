// SPDX-License-Identifier: Apache-2.0
// probe.h - the first question on every connection: who answers, and what is there.
#pragma once
#include <cstddef>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "core/table_version.h"
#include "core/timing.h"
#include "stores/postgres/config.h"
#include "stores/postgres/connection.h"
#include "stores/postgres/tables.h"

namespace holdfast::postgres {

struct ServerProbe {
  Tables tables;         // where they are, or would be made
  bool pooled = false;   // somebody stands between us and the server
  bool standby = false;  // it replays another server's log
  bool read_only = false;
  std::string database = {};
  Micros now{};  // the server's clock
  Instant asked{}, answered{};

  bool table = false;            // the lock table is there
  bool unlogged = false;         // and a crash empties it
  bool schema = false;           // what they lie in, or would
  std::string wrong = {};        // what cannot be used, in a sentence: not what init mends; empty: nothing
  bool sequence = false;         // it has that column
  bool one_row_per_key = false;  // and a unique index
  bool keys_in_order = false;    // in bytewise order, as people are told keys
  std::size_t longest_key = 0, longest_owner = 0;  // in letters; 0: as long as you like
  std::size_t longest_mark = 0;           // letters of ShedLock's column locked_by; 0: as many as you like
  std::vector<std::string> missing = {};  // of what lies beside it: "waiters"
  core::TableVersion table_version = {};

  std::string wrong_jobs = {};                 // what cannot be used to keep jobs, in a sentence
  std::vector<std::string> missing_jobs = {};  // of what only they need: "ticks"

  // Leases can be kept.
  bool complete() const noexcept { return table && sequence && one_row_per_key && missing.empty(); }
};

// Throws Failure.
ServerProbe probe_server(Connection& connection, const Tables& tables, Instant until);

// Errc::refused, if only a newer Holdfast can use them; throws Failure.
void require_known(const ServerProbe& probe, const std::string& where);
// Errc::refused or unprepared, if leases cannot be kept there; throws Failure.
void require_complete(const ServerProbe& probe, const std::string& where);
// The same for jobs, whose locks are leases.
void require_jobs(const ServerProbe& probe, const std::string& where);

// A connection to a server that has what `require` asks for (one of the above), what is there, the statements
// for it, and its clock.  Throws Failure.
using Probed = std::tuple<std::unique_ptr<Connection>, ServerProbe, Statements, core::StoreOffset>;
Probed connect_to(const StoreConfig& config, decltype(require_complete)& require, Instant until);

}  // namespace holdfast::postgres
