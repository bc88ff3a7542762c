// SPDX-License-Identifier: Apache-2.0
// answers.h - what a server's answers to administrators' commands say, as facts.  Pure.
#pragma once
#include "stores/mongodb/bson.h"
#include "stores/mongodb/findings.h"

namespace holdfast::mongodb {

void read_probe(View answer, Facts& facts);
void read_server_status(View answer, Facts& facts);
void read_command_line(View answer, Facts& facts);     // of getCmdLineOpts
void read_set(View answer, Facts& facts);              // of replSetGetConfig
void read_default_concern(View answer, Facts& facts);  // of getDefaultRWConcern

}  // namespace holdfast::mongodb
