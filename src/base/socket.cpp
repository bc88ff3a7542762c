// SPDX-License-Identifier: Apache-2.0
#include "base/socket.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>

#include <cerrno>
#include <cstring>
#include <future>
#include <memory>
#include <vector>

#include "base/text.h"
#include "base/worker.h"
#include "holdfast/result.h"

namespace holdfast {
namespace {

struct Endpoint {
  sockaddr_storage address{};
  socklen_t length = 0;
};

struct Resolved {
  int error = 0;  // of getaddrinfo()
  std::vector<Endpoint> endpoints;
};

Resolved get_addresses(const std::string& host, const std::string& port, int flags) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = flags | AI_NUMERICSERV;
  addrinfo* list = nullptr;
  Resolved found{getaddrinfo(host.c_str(), port.c_str(), &hints, &list), {}};
  if (found.error != 0) return found;
  for (const addrinfo* a = list; a != nullptr; a = a->ai_next) {
    Endpoint endpoint{{}, a->ai_addrlen};
    std::memcpy(&endpoint.address, a->ai_addr, a->ai_addrlen);
    found.endpoints.push_back(endpoint);
  }
  freeaddrinfo(list);
  return found;
}

[[noreturn]] void cannot_resolve(const std::string& host, const std::string& why) {
  throw_failure({Errc::unavailable, "cannot resolve the host \"" + printable(host) + "\": " + why});
}

// getaddrinfo() has no deadline of its own.  So a thread calls it, and we leave that thread behind if it does
// not return by `until`.
std::vector<Endpoint> resolve(const std::string& host, std::uint16_t port, Instant until) {
  const std::string service = std::to_string(port);
  if (host == "localhost") {  // needs no name server
    Resolved both = get_addresses("127.0.0.1", service, AI_NUMERICHOST);
    for (const Endpoint& six : get_addresses("::1", service, AI_NUMERICHOST).endpoints)
      both.endpoints.push_back(six);
    return both.endpoints;
  }
  if (Resolved number = get_addresses(host, service, AI_NUMERICHOST); number.error == 0)
    return number.endpoints;

  std::promise<Resolved> promise;
  std::future<Resolved> answer = promise.get_future();
  Worker resolver([host, service, p = std::make_shared<std::promise<Resolved>>(std::move(promise))] {
    p->set_value(get_addresses(host, service, AI_ADDRCONFIG));
  });
  if (answer.wait_for(until - BootClock::now()) != std::future_status::ready)
    cannot_resolve(host, "timed out");
  resolver.finish(Millis(100));
  Resolved found = answer.get();
  if (found.error != 0) cannot_resolve(host, gai_strerror(found.error));
  return std::move(found.endpoints);
}

Error system_error(int error) {
  const bool forbidden = error == EACCES || error == EPERM;
  return {forbidden ? Errc::refused : Errc::unavailable, std::strerror(error)};
}

// Returns errno, or zero.
int try_to_connect(int fd, const sockaddr* address, socklen_t length, Instant until) {
  if (::connect(fd, address, length) == 0) return 0;
  // EAGAIN: the queue of a Unix socket is full, and poll() does not report when it has room again.
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
  // A listener may receive nothing for hours.  Keepalive notices a server that has gone.
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
    // An address that never answers must leave time for the others.
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
