// SPDX-License-Identifier: Apache-2.0
// site.h - what the connections of one origin share: where the server is, and who they are there.
#pragma once
#include <memory>
#include <string>

#include "base/address.h"
#include "holdfast/redis.h"
#include "stores/redis/naming.h"
#include "stores/redis/tls.h"

namespace holdfast::redis {

struct Site {
  Site(Options chosen, std::shared_ptr<TlsContext> trust, std::string self)
      : options(std::move(chosen)),
        tls(std::move(trust)),
        naming(options.prefix),
        client(std::move(self)),
        place(options.socket.empty() ? host_and_port(options.host, options.port) : options.socket) {}

  bool local() const { return !options.socket.empty() || is_local(options.host); }

  const Options options;
  const std::shared_ptr<TlsContext> tls;  // null: without
  const Naming naming;
  const std::string client;
  const std::string place;  // for people
};

}  // namespace holdfast::redis
