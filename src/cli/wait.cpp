// SPDX-License-Identifier: Apache-2.0
// wait.cpp - `holdfast wait KEY`: until nobody holds it.
#include "cli/commands.h"
#include "cli/connecting.h"
#include "cli/open_store.h"
#include "cli/output.h"
#include "cli/run/waiting_line.h"

namespace holdfast::cli {

int execute(const Wait& command, const Common& common) {
  Connecting connecting(command.wait);
  auto looked = connecting.reach([&] { return look_at_store(common, connecting.for_opening()); });
  if (!looked) return fail(looked.error());
  if (looked->unused) return exit_ok;
  const Status free = [&] {
    const WaitingLine line(Admin(try_store(common.store).value()), command.key);
    return looked->by_hand.try_wait_until_free(command.key, {.wait = connecting.left()});
  }();
  return free ? exit_ok : fail(free.error());
}

}  // namespace holdfast::cli
