// SPDX-License-Identifier: Apache-2.0
// diagnosis.h - a thorough look at a server, whatever it is like.
#pragma once
#include <memory>

#include "holdfast/rows.h"
#include "stores/redis/config.h"

namespace holdfast::redis {

// On a connection of its own, without choosing a database, which a Cluster refuses.  Writes nothing.  What
// the user may not ask is a finding.  Throws Failure where nobody answers or lets us in.
Diagnosis look_closely(const std::shared_ptr<const StoreConfig>& config, Instant until);

}  // namespace holdfast::redis
