// SPDX-License-Identifier: Apache-2.0
// descriptor.h - what others know of leases in SQLite.
#pragma once
#include "holdfast/spi/descriptor.h"

namespace holdfast::sqlite {

extern const StoreDescriptor store_descriptor;

}  // namespace holdfast::sqlite
