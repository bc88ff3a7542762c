// SPDX-License-Identifier: Apache-2.0
// socket.h - a connected socket.
#pragma once
#include <cstdint>
#include <string>

#include "base/fd.h"
#include "holdfast/clock.h"

namespace holdfast {

// Neither blocks.  Both throw Failure: unavailable, or refused where the system does not let us.  It says
// why, and leaves it to the caller to say where to.
Fd connect_tcp(const std::string& host, std::uint16_t port, Instant until);
Fd connect_unix(const std::string& path, Instant until);

// From now on receiving blocks, but no longer than that.
void block_briefly(int fd, Millis longest) noexcept;

}  // namespace holdfast
