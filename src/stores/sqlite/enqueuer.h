// SPDX-License-Identifier: Apache-2.0
// enqueuer.h - enqueues in a transaction of the caller's own, on a machine of our choice.  For tests; others
// use holdfast/sqlite.h.
#pragma once
#include <memory>
#include <string_view>

#include "holdfast/sqlite.h"
#include "stores/sqlite/machine.h"

namespace holdfast::sqlite {

Result<std::unique_ptr<Enqueuer>> enqueuer(::sqlite3* connection, std::string_view table,
                                           std::string_view schema, Machine machine);

}  // namespace holdfast::sqlite
