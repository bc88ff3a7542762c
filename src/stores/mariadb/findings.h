// SPDX-License-Identifier: Apache-2.0
// findings.h - what can be wrong with a server, as rules over what it has said.  The topics are the rows of
// the table in docs/stores/mariadb.md, for MySQL too.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "holdfast/rows.h"
#include "stores/mariadb/config.h"
#include "stores/mariadb/probe.h"

namespace holdfast::mariadb {

// What only a diagnosis looks for.  The names are those of diagnosis.sql.
struct Depth {
  using Named = std::map<std::string, std::string, std::less<>>;
  Named settings = {}, status = {};
  std::int64_t replicas = 0;            // that fetch its log
  bool replicates = false;              // another server's log
  bool source_untold = false;           // whether it does
  bool in_group = true;                 // of MySQL's group replication, if it knows one
  std::vector<std::string> held = {};   // grants of this user
  std::vector<std::string> lacks = {};  // grants that a client needs besides
  std::size_t servers = 1;              // that have answered by this address
  std::string crowded = {};             // why it let no further connection in; empty: it did
};

// Of all that can be found here.
std::vector<std::string_view> finding_topics();

// What every client finds.
std::vector<Finding> findings_of(const ServerProbe& probe, const StoreConfig& config);
// What a diagnosis finds besides.
std::vector<Finding> findings_of(const Depth& depth, const ServerProbe& probe, const StoreConfig& config);

// For people: "MariaDB 10.11.14".
std::string name_of(const ServerProbe& probe);

}  // namespace holdfast::mariadb
