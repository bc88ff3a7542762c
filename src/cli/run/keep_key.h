// SPDX-License-Identifier: Apache-2.0
// keep_key.h - `run --at-least`: CMD has ended, and the key is kept for the rest of its time.
#pragma once
#include "cli/run/signals.h"
#include "holdfast/lease.h"

namespace holdfast::cli {

// Returns at `until`, or before:
//
//   event               | what we do
//   --------------------+------------------------------------------------------
//   INT TERM HUP QUIT   | return: nobody has to wait for a key that is not used
//   the lease is lost   | return: there is nothing to keep
//   TSTP                | stop; the lease may be gone when we are continued
//   USR1 USR2 WINCH     | nobody to give it to
//
// Throws std::system_error.
void keep_key(Lease& lease, Instant until, Signals& signals);

}  // namespace holdfast::cli
