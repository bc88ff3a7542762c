// SPDX-License-Identifier: Apache-2.0
// acquire.cpp - `holdfast acquire KEY`: take a lease that outlives this process.
#include "base/text.h"
#include "cli/columns.h"
#include "cli/commands.h"
#include "cli/json.h"
#include "cli/output.h"
#include "cli/run/wait_for_lease.h"
#include "cli/words/values.h"

namespace holdfast::cli {
namespace {

constexpr OptionSpec acquire_options[] = {nonblock_option, wait_option, ttl_option, owner_option,
                                          note_option};

struct Acquire {
  std::string key;
  AcquireOptions options;
};

Acquire acquire_of(const Given& given) {
  Acquire acquire{key_of(given), acquire_options_of(given)};
  acquire.options.detached = true;
  return acquire;
}

int execute(const Acquire& command, const Common& common) {
  Signals signals;
  WaitResult result = wait_for_lease({common.store, command.key, command.options, {}, common.quiet}, signals);
  if (const auto* interrupted = std::get_if<Interrupted>(&result)) return exit_signalled(interrupted->signal);
  if (const auto* error = std::get_if<Error>(&result)) return fail(*error);
  Lease& lease = std::get<Granted>(result).lease;
  if (common.json)
    print(json_of(lease));
  else
    print(
        aligned({{"owner", std::string(lease.owner())}, {"token", std::to_string(to_number(lease.token()))}},
                false, false));
  if (flush_stdout()) return exit_ok;
  // main() reports the error.  Nobody knows the owner of this lease, so nobody could release it later; but if
  // the caller named the owner, it can release the lease, and may have held it before.
  if (command.options.owner)
    complain(printable(lease.key()) + " is held by " + printable(lease.owner()) +
             ", although the answer could not be written; release it with `holdfast release`");
  else
    (void)lease.try_release();
  return exit_ok;
}

}  // namespace

constinit const CommandSpec commands::acquire{
    .name = "acquire",
    .usage = "[OPTION]... KEY",
    .purpose = "Acquire KEY and keep it, for scripts",
    .options = acquire_options,
    .more =
        R"(Prints owner and token. The lease is detached: it lasts until it is released or its ttl has passed, even if this
process ends; with --ttl never, until it is released. Without -n and -w it waits forever for a busy key, but only 10 s
for a store that cannot be reached.

  holdfast acquire deploy --owner "$USER" --ttl 10m -w 30s
  holdfast acquire maintenance --owner ops --ttl never -n)",
    .read = reads<acquire_of>,
    .other_names = "lock",
    .takes_quiet = true,
    .configured = true,
};

}  // namespace holdfast::cli
