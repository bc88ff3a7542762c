// SPDX-License-Identifier: Apache-2.0
// descriptor.h - what others know of leases in Redis.
#pragma once
#include "holdfast/spi/descriptor.h"

namespace holdfast::redis {

extern const StoreDescriptor store_descriptor;

}  // namespace holdfast::redis
