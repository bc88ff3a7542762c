// SPDX-License-Identifier: Apache-2.0
// job_words.h - a job's record as SQL, and back.
#pragma once
#include <string>
#include <string_view>

#include "core/job_rule.h"
#include "stores/mariadb/connection.h"

namespace holdfast::mariadb {

// What record_in() reads, for between SELECT and FROM.
extern const std::string_view job_columns;
core::JobRecord record_in(const Answer& answer, std::size_t row);

// What stands behind SET: all of it.  `wall` decides whether it is ready.
std::string all_of(const core::JobRecord& job, Moment wall);
// What is not as it was.
std::string changes(const core::JobRecord& before, const core::JobRecord& job, Moment wall);

// At least 1970, at most far from where DATETIME ends.
std::string moment_of(Micros moment);
std::string moment_of(Moment moment);

}  // namespace holdfast::mariadb
