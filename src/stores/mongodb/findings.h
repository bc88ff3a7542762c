// SPDX-License-Identifier: Apache-2.0
// findings.h - what can break a lease on a server, each with what to change.  Pure: the rows of the table in
// docs/stores/mongodb.md.
#pragma once
#include <string>
#include <vector>

#include "holdfast/rows.h"
#include "stores/mongodb/probe.h"

namespace holdfast::mongodb {

std::string about_index(const std::string& name);
inline constexpr const char* about_age = " is older than MongoDB 5.0, which leases need";
inline constexpr const char* about_router =
    "leases expire by the clock of the router (mongos), and two routers' clocks may differ: a lease can "
    "end early";

// What every client finds.
std::vector<Finding> findings_of(const ServerProbe& probe, const StoreConfig& config);

// A member's clock, as far as it is ahead of some clock that is the same for all, or a little more.
struct Clock {
  std::string member;
  Micros ahead{}, or_more{};
};

// What a thorough look brings beside that.
struct Facts {
  std::string version = {};                 // empty: it was not told
  std::vector<std::string> vanishing = {};  // TTL indexes of what lies beside the leases: "jobs.tidy"
  std::vector<std::string> unique = {};     // indexes by which our documents may be refused
  std::string odd_gem = {};                 // beside the gem: what is wrong with its collection
  std::vector<std::string> arbiters = {};   // members that keep nothing
  bool weak_default = false;                // writes of others are not confirmed by a majority
  bool unjournaled = false;                 // a majority may have it in memory only
  std::string engine = {};                  // where documents lie, if that is memory only
  bool sharded = false;
  std::vector<Clock> clocks = {};
  bool let_in = false;                  // we have seen collections
  bool open = false;                    // the server listens to other machines, and wants nobody to log in
  std::vector<std::string> lacks = {};  // "insert on app.locks"
  std::vector<std::string> lacks_for_jobs = {};
  std::vector<std::string> powers = {};     // roles of the user that reach further than leases need
  std::vector<std::string> processes = {};  // that answered
  std::string crowded = {};                 // why it let no further connection in; empty: it did
  std::vector<std::string> unseen = {};     // what was not told
};
Diagnosis diagnosis_of(const ServerProbe& probe, const Facts& facts, const StoreConfig& config);

}  // namespace holdfast::mongodb
