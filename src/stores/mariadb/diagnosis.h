// SPDX-License-Identifier: Apache-2.0
// diagnosis.h - a thorough look at a server, and at the way to it.
#pragma once
#include "holdfast/rows.h"
#include "stores/mariadb/config.h"

namespace holdfast::mariadb {

// Opens connections of its own.  Changes nothing.  Throws Failure.
Diagnosis diagnose(const StoreConfig& config, Instant until);

}  // namespace holdfast::mariadb
