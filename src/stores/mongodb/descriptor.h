// SPDX-License-Identifier: Apache-2.0
// descriptor.h - what others know of leases in MongoDB.
#pragma once
#include "holdfast/spi/descriptor.h"

namespace holdfast::mongodb {

extern const StoreDescriptor store_descriptor;

}  // namespace holdfast::mongodb
