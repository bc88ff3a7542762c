// SPDX-License-Identifier: Apache-2.0
// renew.cpp - `holdfast renew KEY --owner O`: a lease somebody took lasts longer.
#include "base/duration.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/json.h"
#include "cli/output.h"
#include "holdfast/client.h"

namespace holdfast::cli {

int execute(const Renew& command, const Common& common) {
  auto client = try_open(common.store);
  if (!client) return fail(client.error());
  const Status renewed = command.extend ? client->try_extend_by(command.key, command.owner, command.ttl)
                                        : client->try_renew(command.key, command.owner, command.ttl);
  if (!renewed) return fail(renewed.error());
  if (common.json)
    say(json_of_texts({{"key", command.key}, {"owner", command.owner}, {"verdict", "granted"}}));
  else
    say(printable(command.key) + (command.extend ? " lasts longer by " : " lasts for ") +
        format_duration(command.ttl));
  return exit_ok;
}

}  // namespace holdfast::cli
