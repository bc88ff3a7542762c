// SPDX-License-Identifier: Apache-2.0
#include "base/socket.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>

#include <cerrno>
#include <cstring>

#include "base/poll.h"
#include "base/resolve.h"
#include "base/text.h"
#include "holdfast/result.h"

namespace holdfast {
namespace {

Error system_error(int error) {
  const bool forbidden = error == EACCES || error == EPERM;
  return {forbidden ? Errc::refused : Errc::unavailable, std::strerror(error)};
}

// The error, or zero.
int try_to_connect(int fd, const sockaddr* address, socklen_t length, Instant until) {
  if (::connect(fd, address, length) == 0) return 0;
  // EAGAIN: a Unix socket whose queue is full, which nothing tells us the end of.
  if (errno != EINPROGRESS && errno != EINTR) return errno;
  if (!await(fd, POLLOUT, until)) return ETIMEDOUT;
  int error = 0;
  socklen_t size = sizeof error;
  return getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) == 0 ? error : errno;
}

Fd open_socket(int family) {
  Fd fd(::socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!fd) throw_failure(system_error(errno));
  return fd;
}

void tune(int fd) {
  const auto set = [fd](int level, int name, int value) {
    setsockopt(fd, level, name, &value, sizeof value);
  };
  set(IPPROTO_TCP, TCP_NODELAY, 1);
  // A listener may hear nothing for hours, also from a server that is no longer there.
  set(SOL_SOCKET, SO_KEEPALIVE, 1);
  set(IPPROTO_TCP, TCP_KEEPIDLE, 15);
  set(IPPROTO_TCP, TCP_KEEPINTVL, 5);
  set(IPPROTO_TCP, TCP_KEEPCNT, 3);
}

}  // namespace

Fd connect_unix(const std::string& path, Instant until) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path)
    throw_failure({Errc::invalid, "the socket path " + printable(path) + " is too long: the system allows " +
                                      std::to_string(sizeof address.sun_path - 1) +
                                      " bytes; use a shorter path"});
  std::memcpy(address.sun_path, path.data(), path.size());
  Fd fd = open_socket(AF_UNIX);
  const int error =
      try_to_connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address, until);
  if (error != 0) throw_failure(system_error(error));
  return fd;
}

Fd connect_tcp(const std::string& host, std::uint16_t port, Instant until) {
  const std::vector<Endpoint> endpoints = resolve(host, port, until);
  int error = EHOSTUNREACH;
  for (std::size_t i = 0; i < endpoints.size(); ++i) {
    const Instant now = BootClock::now();
    if (now >= until) break;
    // One address that swallows everything must leave time for the others.
    const Instant turn = now + (until - now) / static_cast<int>(endpoints.size() - i);
    Fd fd = open_socket(endpoints[i].address.ss_family);
    tune(fd.get());
    const int failed = try_to_connect(fd.get(), reinterpret_cast<const sockaddr*>(&endpoints[i].address),
                                      endpoints[i].length, turn);
    if (failed == 0) return fd;
    if (i == 0 || error == EAFNOSUPPORT || error == EADDRNOTAVAIL) error = failed;
  }
  throw_failure(system_error(error));
}

void block_briefly(int fd, Millis longest) noexcept {
  const timeval length{0, std::chrono::duration_cast<Micros>(longest).count()};
  setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &length, sizeof length);
  fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) & ~O_NONBLOCK);
}

}  // namespace holdfast
