// SPDX-License-Identifier: Apache-2.0
// findings.h - what can be wrong with a server, as rules over what it has said.  The topics are the rows of
// the table in docs/stores/mongodb.md.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "holdfast/rows.h"
#include "stores/mongodb/probe.h"

namespace holdfast::mongodb {

std::string about_index(const std::string& name);
inline constexpr const char* about_age = " is older than MongoDB 5.0, which leases need";
inline constexpr const char* about_router =
    "leases expire by the clock of the router (mongos), and two routers' clocks may differ: a lease can "
    "end early";

// Of all that can be found here.
std::vector<std::string_view> finding_topics();

// What every client finds.
std::vector<Finding> findings_of(const ServerProbe& probe, const StoreConfig& config);

// How far a member's clock is ahead of a clock that is the same for all: at least `ahead`, at most `or_more`
// more.
struct Clock {
  std::string member;
  Micros ahead{}, or_more{};
};

// What only a diagnosis reads.
struct Facts {
  std::string version = {};                 // empty: unknown
  std::vector<std::string> vanishing = {};  // TTL indexes of the collections beside the leases: "jobs.tidy"
  std::vector<std::string> unique = {};     // indexes by which our documents may be refused
  std::string odd_gem = {};                 // beside the gem: what is wrong with its collection
  std::vector<std::string> arbiters = {};   // members that keep nothing
  bool weak_default = false;                // writes of others are not confirmed by a majority
  bool unjournaled = false;                 // a majority may have it in memory only
  std::string engine = {};                  // where documents lie, if that is memory only
  bool sharded = false;
  std::vector<Clock> clocks = {};
  bool let_in = false;                  // the collections could be read
  bool open = false;                    // the server listens to other machines, and requires no login
  std::vector<std::string> lacks = {};  // "insert on app.locks"
  std::vector<std::string> lacks_for_jobs = {};
  std::vector<std::string> powers = {};     // roles of the user that reach further than leases need
  std::vector<std::string> processes = {};  // that answered
  std::string crowded = {};                 // why it let no further connection in; empty: it did
  std::vector<std::string> unseen = {};     // what could not be read
};
Diagnosis diagnosis_of(const ServerProbe& probe, const Facts& facts, const StoreConfig& config);

}  // namespace holdfast::mongodb
