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

// -- diagnosis.cpp

// Writes nothing.  What the user may not read, or the server does not know, is a finding.  Throws Failure if
// nobody answers, or the login is refused.
Diagnosis diagnose(Connection& connection, Instant until);

// -- from replies to administrators' commands to facts.  Pure.

void read_probe(View reply, Facts& facts);  // to hello
void read_server_status(View reply, Facts& facts);
void read_command_line(View reply, Facts& facts);     // to getCmdLineOpts
void read_set(View reply, Facts& facts);              // to replSetGetConfig
void read_default_concern(View reply, Facts& facts);  // to getDefaultRWConcern
// To connectionStatus: the rights that the user lacks, and roles that allow more than leases need.  Nothing
// if nobody has logged in: either nobody has to, or the server refuses the next command.
void read_rights(View reply, const ServerProbe& probe, const StoreConfig& config, Facts& facts);

}  // namespace holdfast::mongodb
