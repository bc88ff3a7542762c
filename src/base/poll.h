// SPDX-License-Identifier: Apache-2.0
// poll.h - wait for a descriptor, but no longer than until a moment.
#pragma once
#include "holdfast/clock.h"

namespace holdfast {

// Whether one of `events` (POLLIN, POLLOUT), or an error, came before `until`.  Looks at least once.
bool await(int fd, short events, Instant until) noexcept;

}  // namespace holdfast
