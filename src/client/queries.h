// SPDX-License-Identifier: Apache-2.0
// queries.h - what a client reads from a store: the row of one key, and why a lease was lost.
#pragma once
#include "client/lease_state.h"
#include "holdfast/lease.h"
#include "holdfast/spi/store.h"

namespace holdfast {

// Makes the times of a page what clients report (core::reported).
void report_remaining(Page& page) noexcept;

// The row of `key`, as it is reported.  If the store does not know the key, the row has no owner and no
// token.
Result<LeaseRow> read_lease(StoreConnection& connection, Key key, Instant until);

// Why `lease` was lost, from `reply` and from the store's log.  The holder gets the reason together with the
// loss, so the log is read for a short time only, and not past `latest`.
Lost why_lost(StoreConnection& connection, const LeaseState& lease, const Reply& reply, Instant latest);

// Reads only the log.  Leaves `lost` as it is if the log has no line about the grant that `of` names.
void read_loss_reason(Lost& lost, StoreConnection& connection, const Request& of,
                      Instant latest = Instant::max());

}  // namespace holdfast
