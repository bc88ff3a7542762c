// SPDX-License-Identifier: Apache-2.0
// wait.cpp - `holdfast wait KEY`: wait until nobody holds it.
#include "cli/commands.h"
#include "cli/connect_retry.h"
#include "cli/open_store.h"
#include "cli/output.h"
#include "cli/run/wait_for_lease.h"
#include "cli/words/values.h"

namespace holdfast::cli {
namespace {

constexpr OptionSpec wait_options[] = {
    {"-n,--nonblock", "", "do not wait: the exit code says whether the key is free"},
    wait_option,
};

struct WaitUntilFree {
  std::string key;
  Wait wait = forever;
};

WaitUntilFree wait_until_free_of(const Given& given) { return {key_of(given), wait_of(given)}; }

int execute(const WaitUntilFree& command, const Common& common) {
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

}  // namespace

constinit const CommandSpec commands::wait{
    .name = "wait",
    .usage = "[OPTION]... KEY",
    .purpose = "Wait until nobody holds KEY, without acquiring it",
    .options = wait_options,
    .more = R"(Exit code 75 if KEY is still held when the time is over.

  holdfast wait nightly -w 1h && ./report.sh
  holdfast wait nightly -n || echo "it still runs")",
    .read = reads<wait_until_free_of>,
    .takes_json = false,  // it prints no answer
};

}  // namespace holdfast::cli
