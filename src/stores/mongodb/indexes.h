// SPDX-License-Identifier: Apache-2.0
// indexes.h - the indexes of the collections of leases and of jobs, beside those on _id.
#pragma once
#include <string>
#include <vector>

#include "stores/mongodb/connection.h"

namespace holdfast::mongodb {

inline constexpr const char *ready_index = "ready", *wake_index = "wake", *waits_index = "waits";

// The command that makes those that are missing, or none; sent too if `make` says so.  Throws Failure.
//
// Those of leases make listing fast, and nothing depends on them.
std::vector<std::string> lease_indexes(Connection& connection, bool make, Instant until);
std::vector<std::string> job_indexes(Connection& connection, bool make, Instant until);

}  // namespace holdfast::mongodb
