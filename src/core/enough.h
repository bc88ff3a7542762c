// SPDX-License-Identifier: Apache-2.0
// enough.h - until when a diagnosis asks again what it has been told already.
#pragma once
#include "holdfast/clock.h"

namespace holdfast::core {

// A third of the time from `now` until `until`.  A store that is far away is asked less often, and the rest
// of the time is for what was not asked yet.
inline Instant enough(Instant now, Instant until) { return now + (until - now) / 3; }

}  // namespace holdfast::core
