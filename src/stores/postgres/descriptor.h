// SPDX-License-Identifier: Apache-2.0
// descriptor.h - what others know of leases in PostgreSQL.
#pragma once
#include "holdfast/spi/descriptor.h"

namespace holdfast::postgres {

extern const StoreDescriptor store_descriptor;

}  // namespace holdfast::postgres
