// SPDX-License-Identifier: Apache-2.0
// job_row.h - a job as jobs.lua tells it: its id, then names and values.
#pragma once
#include <string_view>

#include "core/job_rule.h"
#include "stores/redis/answer.h"

namespace holdfast::redis {

// Throws Failure: in_doubt if it is not understood.
core::JobRecord job_of(const Value& row);

JobState state_of(std::string_view word);

// In microseconds since 1970.
inline Micros micros_of(const Value& value) { return Micros(value.number()); }
inline Moment moment_of(const Value& value) { return Moment(micros_of(value)); }

}  // namespace holdfast::redis
