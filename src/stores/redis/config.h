// SPDX-License-Identifier: Apache-2.0
// config.h - what the connections of one store share: where the server is, and who they are there.
#pragma once
#include <memory>
#include <optional>
#include <string>

#include "base/text.h"
#include "base/url.h"
#include "core/findings.h"
#include "holdfast/redis.h"
#include "stores/redis/keys.h"
#include "stores/redis/tls.h"

namespace holdfast::redis {

struct StoreConfig {
  StoreConfig(Options chosen, std::shared_ptr<TlsContext> trust, std::string self)
      : options(std::move(chosen)),
        tls(std::move(trust)),
        naming(options.prefix),
        client(std::move(self)),
        place(options.socket.empty() ? host_and_port(options.host, options.port) : options.socket),
        name(name_of()) {}

  core::Accepted accepted() const { return {options.allow_unsafe, options.accept}; }
  bool local() const { return !options.socket.empty() || is_local(options.host); }

  const Options options;
  const std::shared_ptr<TlsContext> tls;  // null: without
  const Naming naming;
  const std::string client;
  const std::string place;               // for people
  const std::string name;                // the same, as a URL; holds no secret
  std::optional<Micros> fixed_now = {};  // in the place of the server's: core/fixed_now.h

 private:
  std::string name_of() const {
    const Options& o = options;
    const std::string db = std::to_string(o.db);
    std::string text;
    if (!o.socket.empty())
      text = "redis+unix://" + o.socket + (o.db == 0 ? "" : "?db=" + db);
    else
      text = (o.tls ? "rediss://" : "redis://") + place + (o.db == 0 ? "" : "/" + db);
    const auto add = [&](const std::string& parameter) {
      text += (text.find('?') == std::string::npos ? "?" : "&") + parameter;
    };
    if (!o.prefix.empty()) add("prefix=" + o.prefix);
    if (o.layout == Layout::active_job_lock) add("layout=active_job_lock");
    return printable(text);
  }
};

}  // namespace holdfast::redis
