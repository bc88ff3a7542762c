// SPDX-License-Identifier: Apache-2.0
// verdicts.h - what a store's answer means to whoever asked.
#pragma once
#include <string_view>

#include "holdfast/lease.h"
#include "holdfast/spi/store.h"

namespace holdfast::core {

// Of a release that named `token` (none: whichever the holder has).
Released released_by(const Reply& reply, OwnerView owner, Token token);

// Of a renewal that was answered `lost`.  Whether an operator broke it only the log knows.
Lost lost_by(const Reply& reply, OwnerView owner, Token token);

// The log's word on what became of that holder's grant, if it has one.
void look_up(Lost& lost, const Page& log, OwnerView owner, Token token);

}  // namespace holdfast::core
