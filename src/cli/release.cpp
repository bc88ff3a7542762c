// SPDX-License-Identifier: Apache-2.0
// release.cpp - `holdfast release KEY --owner O`: give back a lease somebody took.
#include "base/text.h"
#include "cli/commands.h"
#include "cli/json.h"
#include "cli/open_store.h"
#include "cli/output.h"
#include "cli/words/values.h"

namespace holdfast::cli {
namespace {

constexpr OptionSpec release_options[] = {
    {"--owner", "OWNER", "the owner that holds the lease"},
};

struct Release {
  std::string key;
  std::string owner;
};

Release release_of(const Given& given) { return {key_of(given), owner_of(given)}; }

struct Verdict {
  int code;
  std::string sentence;
};

Verdict verdict_of(Released released, const std::string& key, const std::string& owner) {
  switch (released) {
    case Released::released: return {exit_ok, key + " is released"};
    case Released::already_released: return {exit_ok, key + " was already released"};
    case Released::broken:
      return {exit_lost, "the lease on " + key + " was broken by an operator; `holdfast show " + key +
                             "` shows who did it and why"};
    case Released::expired:
      return {exit_ok, "the lease on " + key + " had already expired; nobody has held the key since"};
    case Released::stolen:
      return {exit_lost, "the lease on " + key + " had expired, and somebody else was granted the key since"};
    case Released::never_held:
      return {exit_lost,
              key + " is not held by " + owner + ", and was not recently; give the owner that acquired it"};
  }
  return {exit_lost, ""};
}

int execute(const Release& command, const Common& common) {
  auto client = open_used_store(common);
  if (!client) return fail(client.error());
  const auto released = client->try_release(command.key, {command.owner});
  if (!released) return fail(released.error());
  const Verdict verdict = verdict_of(*released, printable(command.key), printable(command.owner));
  if (common.json)
    print(
        json_of_texts({{"key", command.key}, {"owner", command.owner}, {"released", to_string(*released)}}));
  else if (verdict.code == exit_ok)
    print(verdict.sentence);
  if (verdict.code != exit_ok) complain(verdict.sentence);
  return verdict.code;
}

}  // namespace

constinit const CommandSpec commands::release{
    .name = "release",
    .usage = "[OPTION]... KEY --owner OWNER",
    .purpose = "Release a lease",
    .options = release_options,
    .more =
        R"(Exit code 0 if KEY was held, was already released or had expired; 76 if somebody else was granted it since, if an
operator broke the lease, or if OWNER never held it.

  holdfast release deploy --owner "$USER"
  holdfast release maintenance --owner ops --json)",
    .read = reads<release_of>,
    .other_names = "unlock",
};

}  // namespace holdfast::cli
