// SPDX-License-Identifier: Apache-2.0
// store.h - a store of which a part of the settings came as a URL's parameters.
#pragma once
#include <memory>

#include "holdfast/postgres.h"
#include "stores/postgres/address.h"

namespace holdfast::postgres {

// `more` is for libpq, and wins over `options.conninfo`.
Result<std::shared_ptr<Store>> make_store(const Options& options, const Words& more);

}  // namespace holdfast::postgres
