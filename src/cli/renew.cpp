// SPDX-License-Identifier: Apache-2.0
// renew.cpp - `holdfast renew KEY --owner O`: a lease somebody took lasts longer.
#include "base/text.h"
#include "base/time.h"
#include "base/url.h"
#include "cli/commands.h"
#include "cli/json.h"
#include "cli/open_store.h"
#include "cli/output.h"
#include "cli/words/values.h"

namespace holdfast::cli {
namespace {

constexpr OptionSpec renew_options[] = {
    {"--owner", "OWNER", "the owner that holds the lease"},
    {"--ttl", "DURATION",
     "make it last at least this long from now on (default: 30s), or never end; it never gets shorter"},
    {"--by", "DURATION", "add this to the time that it has left, instead"},
};

struct Renew {
  std::string key;
  std::string owner;
  Millis ttl{};
  bool extend = false;  // ttl is added to what the lease has left
};

Renew renew_of(const Given& given) {
  const Text ttl = given.text("--ttl"), by = given.text("--by");
  if (ttl && by)
    refuse("--ttl " + printable(redacted(*ttl)) + " and --by " + printable(redacted(*by)) +
           " exclude each other; give one of them");
  if (by && *by == "never") refuse("--by cannot be never; give --ttl never");
  const Millis length = by ? ttl_of("--by", by) : ttl_of("--ttl", ttl);
  return {key_of(given), owner_of(given), length, by.has_value()};
}

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

}  // namespace

constinit const CommandSpec commands::renew{
    .name = "renew",
    .usage = "[OPTION]... KEY --owner OWNER",
    .purpose = "Make a lease last longer",
    .options = renew_options,
    .more = R"(Exit code 76 if OWNER does not hold KEY any more.

  holdfast renew deploy --owner "$USER" --by 5m
  holdfast renew deploy --owner "$USER" --ttl 1h)",
    .read = reads<renew_of>,
};

}  // namespace holdfast::cli
