// SPDX-License-Identifier: Apache-2.0
// wait.cpp - `holdfast wait KEY`: wait until nobody holds it.
#include "cli/commands.h"
#include "cli/connect_retry.h"
#include "cli/open_store.h"
#include "cli/output.h"
#include "cli/run/wait_for_lease.h"

namespace holdfast::cli {

int execute(const Wait& command, const Common& common) {
  ConnectRetry retry(command.wait);
  auto found_store = retry.connect([&] { return find_store(common, retry.for_opening()); });
  if (!found_store) return fail(found_store.error());
  if (found_store->unused) return exit_ok;
  const Status free = [&] {
    const WaitingLine line(Admin(try_store(common.store).value()), command.key);
    return found_store->by_hand.try_wait_until_free(command.key, {.wait = retry.left()});
  }();
  return free ? exit_ok : fail(free.error());
}

}  // namespace holdfast::cli
