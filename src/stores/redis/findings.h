// SPDX-License-Identifier: Apache-2.0
// findings.h - what can be wrong with a server, as rules over what it has said.  The topics are the rows of
// the table in docs/stores/redis.md.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "holdfast/rows.h"
#include "stores/redis/config.h"
#include "stores/redis/probe.h"

namespace holdfast::redis {

// What only a diagnosis reads.
struct Depth {
  std::string appendfsync = {};        // empty: could not be read, like the next three
  std::string maxmemory_clients = {};  // also empty before Redis 7.0, which has no such setting
  std::string protected_mode = {};
  std::string bind = {};                // the addresses on which it listens
  std::vector<std::string> lacks = {};  // commands that leases need and that are forbidden
  std::vector<std::string> lacks_for_jobs = {};
  bool may_delete_all = false;            // the user may
  std::string unseen_settings = {};       // why they could not be read; empty: they were
  std::string unseen_rights = {};         // the same
  std::vector<std::string> run_ids = {};  // of the servers that answered
  std::string connection_refused = {};    // why it accepted no further one; empty: it did
  std::size_t other_keys = 0;             // strings that are no leases, where leases are named
  std::string other_key = {};             // one of them
  bool counted_all = true;                // of them
  bool lets_anyone_in = false;            // also without the password that we give
};

// Of all rules.
std::vector<std::string_view> finding_topics();

// What every client finds, by INFO alone.
std::vector<Finding> findings_of(const ServerInfo& info, const StoreConfig& config);
// All that a diagnosis finds.
Diagnosis diagnosis_of(const ServerInfo& info, const Depth& depth, const StoreConfig& config);

}  // namespace holdfast::redis
