// SPDX-License-Identifier: Apache-2.0
// release.cpp - `holdfast release KEY --owner O`: give back a lease somebody took.
#include "base/text.h"
#include "cli/commands.h"
#include "cli/json.h"
#include "cli/open_store.h"
#include "cli/output.h"

namespace holdfast::cli {
namespace {

struct Verdict {
  int code;
  std::string sentence;
};

Verdict verdict_of(Released released, const std::string& key, const std::string& owner) {
  switch (released) {
    case Released::released: return {exit_ok, key + " is released"};
    case Released::already_released: return {exit_ok, key + " had been released before"};
    case Released::broken:
      return {exit_lost, key + " was taken away by an operator: holdfast show tells who and why"};
    case Released::expired: return {exit_ok, key + " had run out, and nobody was granted it since"};
    case Released::stolen: return {exit_lost, key + " was granted to somebody else since"};
    case Released::never_held:
      return {exit_lost,
              key + " is not held by " + owner + ", and was not lately: give the owner that acquired it"};
  }
  return {exit_lost, ""};
}

}  // namespace

int execute(const Release& command, const Common& common) {
  auto client = open_used_store(common);
  if (!client) return fail(client.error());
  const auto released = client->try_release(command.key, {command.owner});
  if (!released) return fail(released.error());
  const Verdict verdict = verdict_of(*released, printable(command.key), printable(command.owner));
  if (common.json)
    say(json_of_texts({{"key", command.key}, {"owner", command.owner}, {"released", to_string(*released)}}));
  else if (verdict.code == exit_ok)
    say(verdict.sentence);
  if (verdict.code != exit_ok) complain(verdict.sentence);
  return verdict.code;
}

}  // namespace holdfast::cli
