// SPDX-License-Identifier: Apache-2.0
// resolve.h - from the name of a host to addresses.
#pragma once
#include <sys/socket.h>

#include <cstdint>
#include <string>
#include <vector>

#include "holdfast/clock.h"

namespace holdfast {

struct Endpoint {
  sockaddr_storage address{};
  socklen_t length = 0;
};

// Throws Failure: unavailable.  By `until`, although the system's own function knows no deadline: it is asked
// on a thread of its own, which is left to itself if it does not come back.
std::vector<Endpoint> resolve(const std::string& host, std::uint16_t port, Instant until);

}  // namespace holdfast
