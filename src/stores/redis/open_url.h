// SPDX-License-Identifier: Apache-2.0
// open_url.h - from a URL to leases in Redis.
#pragma once
#include <memory>

#include "base/url.h"
#include "holdfast/spi/store.h"

namespace holdfast::redis {

Result<std::shared_ptr<Store>> open_url(const Url& url);

}  // namespace holdfast::redis
