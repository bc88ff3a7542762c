// SPDX-License-Identifier: Apache-2.0
// wait.cpp - `holdfast wait KEY`: until nobody holds it.
#include "cli/commands.h"
#include "cli/output.h"
#include "cli/waiting_line.h"
#include "holdfast/operate.h"

namespace holdfast::cli {

int execute(const Wait& command, const Common& common) {
  const auto origin = try_origin(common.store);
  if (!origin) return fail(origin.error());
  const Status free = [&] {
    const WaitingLine line(Operator(*origin), command.key);
    return Operator(*origin).try_wait_until_free(command.key, {.wait = command.wait});
  }();
  return free ? exit_ok : fail(free.error());
}

}  // namespace holdfast::cli
