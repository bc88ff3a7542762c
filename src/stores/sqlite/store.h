// SPDX-License-Identifier: Apache-2.0
// store.h - a client of a file, on a machine of the caller's choice.  For tests; others use
// holdfast/sqlite.h.
#pragma once
#include <memory>

#include "holdfast/sqlite.h"
#include "stores/sqlite/machine.h"

namespace holdfast::sqlite {

Result<std::shared_ptr<Store>> store(Options options, Machine machine);

}  // namespace holdfast::sqlite
