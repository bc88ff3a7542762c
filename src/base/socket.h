// SPDX-License-Identifier: Apache-2.0
// socket.h - connects sockets: over TCP by the name of a host, or to a Unix socket.
#pragma once
#include <cstdint>
#include <string>

#include "base/fd.h"
#include "holdfast/clock.h"

namespace holdfast {

// Both return a connected, non-blocking socket by `until`, or throw Failure: Errc::unavailable, or
// Errc::refused where the system forbids it.  The text is the cause only; the caller adds the address.
Fd connect_tcp(const std::string& host, std::uint16_t port, Instant until);
Fd connect_unix(const std::string& path, Instant until);

// From now on receiving from `fd` blocks, but no longer than `longest`.
void block_briefly(int fd, Millis longest) noexcept;

}  // namespace holdfast
