// SPDX-License-Identifier: Apache-2.0
// diagnosis.h - a thorough look at a server and the collections, whatever they are like.
#pragma once
#include "holdfast/rows.h"
#include "stores/mongodb/bson.h"
#include "stores/mongodb/connection.h"
#include "stores/mongodb/findings.h"

namespace holdfast::mongodb {

// Writes nothing.  What the user may not ask, or the server does not know, is a finding.  Throws Failure
// where nobody answers or lets us in.
Diagnosis look_closely(Connection& connection, Instant until);

// -- what a server's answers to administrators' commands say, as facts.  Pure.

void read_probe(View answer, Facts& facts);
void read_server_status(View answer, Facts& facts);
void read_command_line(View answer, Facts& facts);     // of getCmdLineOpts
void read_set(View answer, Facts& facts);              // of replSetGetConfig
void read_default_concern(View answer, Facts& facts);  // of getDefaultRWConcern

// Fills in what the user lacks, and the roles that reach too far.  Where nobody has logged in nothing is
// said of rights: either nobody has to, or the server says so with its next answer.
void read_rights(View status, const ServerProbe& probe, const StoreConfig& config, Facts& facts);

}  // namespace holdfast::mongodb
