// SPDX-License-Identifier: Apache-2.0
// config.h - what all connections of one store share: where they lead, and who they are.
#pragma once
#include <string>

#include "core/findings.h"
#include "stores/postgres/settings.h"
#include "stores/postgres/tables.h"

namespace holdfast::postgres {

struct StoreConfig {
  const Settings settings;
  const Tables tables;
  const std::string client;
  const core::Accepted accepted = {};

  std::string name() const {
    if (tables.name() == "locks") return settings.name();
    const bool has_parameters = settings.name().find('?') != std::string::npos;
    return settings.name() + (has_parameters ? "&table=" : "?table=") + tables.name();
  }
  // The channel of a client's notifications.
  std::string channel() const { return "holdfast_" + client; }
};

}  // namespace holdfast::postgres
