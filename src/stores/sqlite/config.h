// SPDX-License-Identifier: Apache-2.0
// config.h - what the connections of one store share: who they are, where, and what they wait for.
#pragma once
#include <string>

#include "core/findings.h"
#include "stores/sqlite/listener.h"
#include "stores/sqlite/probe.h"
#include "stores/sqlite/tables.h"

namespace holdfast::sqlite {

struct StoreConfig {
  StoreConfig(std::string file, Tables names, Machine where, core::Accepted known, std::string client)
      : path(std::move(file)),
        tables(std::move(names)),
        machine(std::move(where)),
        accepted(std::move(known)),
        presence(path, tables.name(), std::move(client)),
        waits(presence) {}

  const std::string path;  // as make_file() returned it
  const Tables tables;
  const Machine machine;
  const core::Accepted accepted;
  Presence presence;
  Waits waits;
};

}  // namespace holdfast::sqlite
