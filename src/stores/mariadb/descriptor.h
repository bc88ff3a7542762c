// SPDX-License-Identifier: Apache-2.0
// descriptor.h - what others know of leases in MariaDB and MySQL.
#pragma once
#include "holdfast/spi/descriptor.h"

namespace holdfast::mariadb {

extern const StoreDescriptor store_descriptor;

}  // namespace holdfast::mariadb
