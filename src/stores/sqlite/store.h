// SPDX-License-Identifier: Apache-2.0
// store.h - a client of a file, and an enqueuer, on a machine of the caller's choice.  For tests; others use
// holdfast/sqlite.h.
#pragma once
#include <memory>
#include <string_view>

#include "holdfast/sqlite.h"
#include "stores/sqlite/probe.h"

namespace holdfast::sqlite {

Result<std::shared_ptr<Store>> store(Options options, Machine machine);

// Enqueues in a transaction of the caller's own.
Result<std::unique_ptr<Enqueuer>> enqueuer(::sqlite3* connection, std::string_view table,
                                           std::string_view schema, Machine machine);

}  // namespace holdfast::sqlite
