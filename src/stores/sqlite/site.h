// SPDX-License-Identifier: Apache-2.0
// site.h - what the stores of one origin share: who they are, where, and what they wait for.
#pragma once
#include <string>

#include "stores/sqlite/bell.h"
#include "stores/sqlite/machine.h"
#include "stores/sqlite/presence.h"
#include "stores/sqlite/tables.h"

namespace holdfast::sqlite {

struct Site {
  Site(std::string file, Tables names, Machine where, std::string client)
      : path(std::move(file)),
        tables(std::move(names)),
        machine(std::move(where)),
        presence(path, tables.name(), std::move(client)),
        waits(presence) {}

  const std::string path;  // as make_file() returned it
  const Tables tables;
  const Machine machine;
  Presence presence;
  Waits waits;
};

}  // namespace holdfast::sqlite
