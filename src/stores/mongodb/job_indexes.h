// SPDX-License-Identifier: Apache-2.0
// job_indexes.h - what has to be made to keep jobs: the indexes of their collection.
#pragma once
#include <string>
#include <vector>

#include "stores/mongodb/connection.h"

namespace holdfast::mongodb {

inline constexpr const char *ready_index = "ready", *wake_index = "wake", *waits_index = "waits";

// The command that makes those that are missing, or none; sent too if `make` says so.  Throws Failure.
std::vector<std::string> job_indexes(Connection& connection, bool make, Instant until);

}  // namespace holdfast::mongodb
