// SPDX-License-Identifier: Apache-2.0
// renew.cpp - `holdfast renew KEY --owner O`: a lease somebody took lasts longer.
#include "base/text.h"
#include "base/time.h"
#include "cli/commands.h"
#include "cli/json.h"
#include "cli/open_store.h"
#include "cli/output.h"

namespace holdfast::cli {

int execute(const Renew& command, const Common& common) {
  auto client = open_used_store(common);
  if (!client) return fail(client.error());
  const auto left = command.extend ? client->try_extend_by(command.key, {command.owner}, command.ttl)
                                   : client->try_renew(command.key, {command.owner}, command.ttl);
  if (!left) return fail(left.error());
  if (common.json)
    print(json_of_renewal(command.key, command.owner, *left));
  else
    print(printable(command.key) + (*left == never ? " is held until it is released"
                                                   : " is held for another " + format_duration(*left)));
  return exit_ok;
}

}  // namespace holdfast::cli
