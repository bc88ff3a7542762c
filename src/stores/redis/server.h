// SPDX-License-Identifier: Apache-2.0
// server.h - whether leases can be trusted to a server.
#pragma once
#include "holdfast/spi/store.h"
#include "stores/redis/config.h"
#include "stores/redis/server_info.h"

namespace holdfast::redis {

// Why no lease may be kept there.
Status check_server(const ServerInfo& info, const StoreConfig& config);

Traits traits_of(const ServerInfo& info, const StoreConfig& config);

}  // namespace holdfast::redis
