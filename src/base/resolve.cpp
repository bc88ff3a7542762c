// SPDX-License-Identifier: Apache-2.0
#include "base/resolve.h"

#include <arpa/inet.h>
#include <netdb.h>

#include <cstring>
#include <future>

#include "base/text.h"
#include "base/worker.h"
#include "holdfast/result.h"

namespace holdfast {
namespace {

struct Found {
  int error = 0;
  std::vector<Endpoint> endpoints;
};

Found look_up(const std::string& host, const std::string& port, int flags) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = flags | AI_NUMERICSERV;
  addrinfo* list = nullptr;
  Found found{getaddrinfo(host.c_str(), port.c_str(), &hints, &list), {}};
  if (found.error != 0) return found;
  for (const addrinfo* a = list; a != nullptr; a = a->ai_next) {
    Endpoint endpoint{{}, a->ai_addrlen};
    std::memcpy(&endpoint.address, a->ai_addr, a->ai_addrlen);
    found.endpoints.push_back(endpoint);
  }
  freeaddrinfo(list);
  return found;
}

[[noreturn]] void unknown(const std::string& host, const std::string& why) {
  throw_failure({Errc::unavailable, "cannot resolve the host \"" + printable(host) + "\": " + why});
}

}  // namespace

std::vector<Endpoint> resolve(const std::string& host, std::uint16_t port, Instant until) {
  const std::string service = std::to_string(port);
  if (host == "localhost") {  // needs nobody's answer
    Found both = look_up("127.0.0.1", service, AI_NUMERICHOST);
    for (const Endpoint& six : look_up("::1", service, AI_NUMERICHOST).endpoints)
      both.endpoints.push_back(six);
    return both.endpoints;
  }
  if (Found number = look_up(host, service, AI_NUMERICHOST); number.error == 0) return number.endpoints;

  std::promise<Found> promise;
  std::future<Found> answer = promise.get_future();
  Worker asking([host, service, p = std::make_shared<std::promise<Found>>(std::move(promise))] {
    p->set_value(look_up(host, service, AI_ADDRCONFIG));
  });
  if (answer.wait_for(until - BootClock::now()) != std::future_status::ready) unknown(host, "timed out");
  asking.finish(Millis(100));
  Found found = answer.get();
  if (found.error != 0) unknown(host, gai_strerror(found.error));
  return std::move(found.endpoints);
}

}  // namespace holdfast
