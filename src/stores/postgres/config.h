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
    std::string text = settings.name();
    const auto add = [&](const std::string& word) {
      text += (text.find('?') == std::string::npos ? "?" : "&") + word;
    };
    if (tables.beside_shedlock()) add("layout=shedlock");
    if (tables.name() != Tables::usual_name(tables.layout())) add("table=" + tables.name());
    return text;
  }
  // The channel of a client's notifications.
  std::string channel() const { return "holdfast_" + client; }
};

}  // namespace holdfast::postgres
