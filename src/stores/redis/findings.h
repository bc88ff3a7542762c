// SPDX-License-Identifier: Apache-2.0
// findings.h - what can break a lease on a server, each with what to change.  Pure: the rows of the table in
// docs/stores/redis.md.
#pragma once
#include <string>
#include <vector>

#include "holdfast/rows.h"
#include "stores/redis/config.h"
#include "stores/redis/probe.h"

namespace holdfast::redis {

// By INFO alone.  Cheap: every client asks for that.
std::vector<Finding> findings_of(const ServerInfo& info, const StoreConfig& config);

// What a thorough look brings beside INFO.
struct Facts {
  std::string appendfsync = {};         // empty: it was not told
  std::string maxmemory_clients = {};   // empty: it was not told, or there is none before 7.0
  std::string protected_mode = {};      // empty: it was not told
  std::string bind = {};                // the addresses on which it listens; empty: it was not told
  std::vector<std::string> lacks = {};  // commands that leases need and that are forbidden
  std::vector<std::string> lacks_for_jobs = {};
  bool almighty = false;                  // the user may delete everything
  std::vector<std::string> unseen = {};   // what was not told, and why
  std::vector<std::string> run_ids = {};  // of the servers that answered
  std::string crowded = {};               // why it let no further connection in; empty: it did
  std::size_t others = 0;                 // strings that are no leases, where leases are named
  bool others_counted = true;             // all of them
  std::string other = {};                 // one of them
  bool unlocked = false;                  // whoever gives no password is let in, though we give one
};
Diagnosis diagnosis_of(const ServerInfo& info, const Facts& facts, const StoreConfig& config);

}  // namespace holdfast::redis
