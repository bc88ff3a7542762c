// SPDX-License-Identifier: Apache-2.0
// config.h - what all connections of one store share: where they lead, and who they are.
#pragma once
#include <string>

#include "base/text.h"
#include "base/url.h"
#include "core/findings.h"
#include "holdfast/mariadb.h"
#include "stores/mariadb/tables.h"

namespace holdfast::mariadb {

struct StoreConfig {
  StoreConfig(Options chosen, Tables named, std::string self)
      : options(std::move(chosen)), tables(std::move(named)), client(std::move(self)), name(name_of()) {}

  core::Accepted accepted() const { return {options.allow_unsafe, options.accept}; }
  bool local() const { return !options.socket.empty() || is_local(options.host); }
  // Nobody else is on the line to a server of this machine.
  bool tls() const { return !local() || options.tls; }

  const Options options;
  const Tables tables;
  const std::string client;
  const std::string name;  // for people; holds no secret

 private:
  std::string name_of() const {
    const std::string user = options.user.empty() ? "" : options.user + "@";
    std::string host = options.socket.empty() ? host_and_port(options.host, options.port) : "";
    if (host.ends_with(":3306")) host.resize(host.size() - 5);  // as people write it
    std::string text = (options.mysql ? "mysql://" : "mariadb://") + user + host + "/" + options.database;
    const auto add = [&](const std::string& word) {
      text += (text.find('?') == std::string::npos ? "?" : "&") + word;
    };
    if (!options.socket.empty()) add("socket=" + options.socket);
    if (!tables.layout().empty()) add("layout=" + std::string(tables.layout()));
    if (!tables.usual()) add("table=" + tables.name());
    return printable(text);
  }
};

}  // namespace holdfast::mariadb
