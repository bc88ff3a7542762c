// SPDX-License-Identifier: Apache-2.0
// read_lease.h - what a store says about one key.
#pragma once
#include <string_view>

#include "holdfast/spi/store.h"

namespace holdfast {

// A key that the store does not know has a row too: without holder and token.
Result<LeaseRow> read_lease(StoreConnection& connection, Key key, Instant until);

}  // namespace holdfast
