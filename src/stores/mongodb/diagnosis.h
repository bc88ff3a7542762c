// SPDX-License-Identifier: Apache-2.0
// diagnosis.h - a thorough look at a server and the collections, whatever they are like.
#pragma once
#include "holdfast/rows.h"
#include "stores/mongodb/connection.h"

namespace holdfast::mongodb {

// Writes nothing.  What the user may not ask, or the server does not know, is a finding.  Throws Failure
// where nobody answers or lets us in.
Diagnosis look_closely(Connection& connection, Instant until);

}  // namespace holdfast::mongodb
