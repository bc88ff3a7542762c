// SPDX-License-Identifier: Apache-2.0
// verdicts.h - what the reply to a release or a renewal means for the caller.
#pragma once
#include <string_view>

#include "holdfast/lease.h"
#include "holdfast/spi/store.h"

namespace holdfast::core {

// The reply to a release of `token` (none: of any grant of the owner).
Released released_by(const Reply& reply, OwnerView owner, Token token);

// The reply `lost` to a renewal.  The reply does not show whether the lease was broken by hand; the log does.
Lost lost_by(const Reply& reply, OwnerView owner, Token token);

// Sets the reason from the log, if that has a line about this grant.
void set_reason_from_log(Lost& lost, const Page& log, OwnerView owner, Token token);

}  // namespace holdfast::core
