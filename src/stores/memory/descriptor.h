// SPDX-License-Identifier: Apache-2.0
// descriptor.h - what others know of leases in memory.
#pragma once
#include "holdfast/spi/descriptor.h"

namespace holdfast::memory {

extern const StoreDescriptor store_descriptor;

}  // namespace holdfast::memory
