// SPDX-License-Identifier: Apache-2.0
// diagnosis.h - reads everything that findings can be about, for doctor.
#pragma once
#include "stores/mongodb/connection.h"
#include "stores/mongodb/findings.h"

namespace holdfast::mongodb {

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
