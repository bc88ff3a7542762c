// SPDX-License-Identifier: Apache-2.0
// findings.h - what can be wrong with a server, as rules over what it has said.  The topics are the rows of
// the table in docs/stores/postgres.md.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "holdfast/rows.h"
#include "stores/postgres/connection.h"
#include "stores/postgres/probe.h"

namespace holdfast::postgres {

// How it is set up: what every client asks, by `examine`.
struct Server {
  bool fsync = true, full_page_writes = true;
  std::string isolation = "read committed";
  std::string version = "PostgreSQL 0";
  std::int64_t asynchronous = 0;  // standbys that do not confirm
  bool hidden = false;            // how those are who receive its log
  bool queue_fills = false;       // that of notifications
};
inline constexpr int answers_about_server = 7;
Server server_in(const Answer& answer);

// What only a diagnosis looks for.
struct Depth {
  std::string synchronous_commit = "on";
  bool superuser = false;
  std::int64_t fillfactor = 100, dead = 0, live = 0;  // of the lock table
  std::string unlogged = {};                          // tables beside it, and ShedLock's
  std::string writable = {};                          // schemas of the search path that everybody may fill
  std::string before_catalog = {};                    // schemas of it that are named before pg_catalog
  std::int64_t namesakes = 0;  // functions and operators there, called as PostgreSQL's own
  bool aurora = false, several_primaries = false;
  std::string strangers = {}, theirs = {};  // owners who have no other say here, and what they own of ours
  std::string hooks = {};                // triggers and rules of our tables, functions in their defaults …
  std::string filtered = {};             // tables of which row security shows us a part
  std::string no_tables = {};            // what bears the name of one of ours, and is none
  std::vector<std::string> grants = {};  // that are missing
  std::size_t servers = 1;               // that have answered by this address
  std::string crowded = {};              // why it let no further connection in; empty: it did
  bool hears = true;                     // notifications arrive
  bool far = false, in_tls = false, verified = false;
};

// Of all that can be found here.
std::vector<std::string_view> finding_topics();

// What every client finds.
std::vector<Finding> findings_of(const Server& server, const ServerProbe& probe);
// What a diagnosis finds besides.
std::vector<Finding> findings_of(const Depth& depth, const ServerProbe& probe, const std::string& store);

// For people: "PostgreSQL 15.18".
std::string name_in(std::string_view version);

}  // namespace holdfast::postgres
