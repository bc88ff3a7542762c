// SPDX-License-Identifier: Apache-2.0
// rights.h - what a user may do, by the server's answer to connectionStatus.  Pure.
#pragma once
#include "stores/mongodb/bson.h"
#include "stores/mongodb/findings.h"

namespace holdfast::mongodb {

// Fills in what the user lacks, and the roles that reach too far.  Where nobody has logged in nothing is
// said of rights: either nobody has to, or the server says so with its next answer.
void read_rights(View status, const ServerProbe& probe, const StoreConfig& config, Facts& facts);

}  // namespace holdfast::mongodb
