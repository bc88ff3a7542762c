// SPDX-License-Identifier: Apache-2.0
// port.h - a loopback port for a server of a test.
#pragma once
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <stdexcept>

#include "base/fd.h"
#include "base/random.h"

namespace holdfast::test {

// Free at this moment.  Below the range that the kernel takes for connections, so that a server that is
// down for a while finds its port again.
inline int free_port() {
  for (int tries = 0; tries < 1000; ++tries) {
    const int port = 12'000 + static_cast<int>(random_bits() % 20'000);
    const Fd probe(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (::bind(probe.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) return port;
  }
  throw std::runtime_error("found no free port");
}

}  // namespace holdfast::test
