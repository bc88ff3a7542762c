// SPDX-License-Identifier: Apache-2.0
// why_lost.h - the reason that a holder is given.
#pragma once
#include "client/lease_state.h"
#include "holdfast/lease.h"
#include "holdfast/spi/store.h"

namespace holdfast {

// What `reply`, which was not the one hoped for, means for the lease.  Losing comes first and knowing why
// second, but the reason is given with the loss: so the store's log is asked for its word, in the time that
// is left before `latest`, and briefly.
Lost why_lost(StoreConnection& connection, const LeaseState& lease, const Reply& reply, Instant latest);

// Asks the log alone, and leaves `lost` as it is if that knows nothing of the grant.
void look_up(Lost& lost, StoreConnection& connection, const Request& of, Instant latest = Instant::max());

}  // namespace holdfast
