// SPDX-License-Identifier: Apache-2.0
// break.cpp - `holdfast break KEY --token T --reason TEXT`: take a lease away.
#include "base/process.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/json.h"
#include "cli/open_store.h"
#include "cli/output.h"
#include "cli/see/describe.h"
#include "cli/words/values.h"
#include "holdfast/check.h"

namespace holdfast::cli {
namespace {

constexpr OptionSpec break_options[] = {
    {"--token", "TOKEN", "the token of the lease to break, as shown by holdfast show"},
    {"--reason", "TEXT", "why; it is recorded, and shown to the holder"},
};

struct Break {
  std::string key;
  Token token{};
  std::string reason;
};

Break break_of(const Given& given) {
  Break command{key_of(given), {}, given.text("--reason").value_or("")};
  const Text token = given.text("--token");
  if (!token)
    refuse("--token is missing; `holdfast show " + printable(command.key) +
           "` shows the token of the lease that is held now");
  command.token = token_of("--token ", *token, "`holdfast show` shows");
  if (command.reason.empty())
    refuse("--reason is missing; say why you break the lease: the holder will see it");
  check_text(command.reason, "the reason").value();
  return command;
}

int execute(const Break& command, const Common& common) {
  auto found_store = find_store(common);
  if (!found_store) return fail(found_store.error());
  if (found_store->unused) return exit_lost;
  const auto before = found_store->by_hand.try_inspect(command.key);
  if (!before) return fail(before.error());
  const auto broken =
      found_store->by_hand.try_break_lease(command.key, command.token, {user_at_host(), command.reason});
  if (!broken) return fail(broken.error());
  if (common.json) {
    print(json_of_texts({{"key", command.key}, {"owner", *broken}, {"reason", command.reason}}));
    return exit_ok;
  }
  print("broke the lease on " + printable(command.key) + ", which " + printable(short_owner(*broken)) +
        " held");
  complain(after_break(before->lease) + (before->lease.detached ? "" : "; stop it if you can"));
  return exit_ok;
}

}  // namespace

constinit const CommandSpec commands::break_lease{
    .name = "break",
    .usage = "[OPTION]... KEY --token TOKEN --reason TEXT",
    .purpose = "Take a lease away from its holder",
    .options = break_options,
    .more =
        R"(Only if KEY is still held with TOKEN; otherwise nothing is changed, and the exit code is 76. The store records who
did it and why, and the holder learns of it at its next renewal, usually within a third of its ttl. A holder that does
not renew goes on until the lease would have ended, and one whose lease has no end until it releases. Until then somebody
else may be granted KEY. If there is time, stop the process instead.

  holdfast show nightly
  holdfast break nightly --token 1763193600000000 --reason "its host is gone")",
    .read = reads<break_of>,
    .other_names = "steal",
};

}  // namespace holdfast::cli
