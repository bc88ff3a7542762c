// SPDX-License-Identifier: Apache-2.0
// socket.h - a connected socket.
#pragma once
#include <string>

#include "base/fd.h"
#include "holdfast/redis.h"

namespace holdfast::redis {

// Does not block.  Throws Failure: unavailable, or refused where the system does not let us.
Fd connect_socket(const Options& options, Instant until);

// From now on receiving blocks, but no longer than that.
void block_briefly(int fd, Millis longest) noexcept;

}  // namespace holdfast::redis
