// SPDX-License-Identifier: Apache-2.0
// diagnosis.h - what can break a lease in a file, found by looking.  Nothing is changed, and nothing made
// that stays.
#pragma once
#include <string>

#include "holdfast/clock.h"
#include "holdfast/rows.h"
#include "stores/sqlite/probe.h"
#include "stores/sqlite/tables.h"

namespace holdfast::sqlite {

// Of a file that is not there, the place where it would be.  Throws Failure.
Diagnosis diagnose_file(const std::string& path, const Tables& tables, const Machine& machine, Instant until);

}  // namespace holdfast::sqlite
