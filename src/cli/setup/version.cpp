// SPDX-License-Identifier: Apache-2.0
// version.cpp - `holdfast version`: which one this is, and what it was built with.
#include "holdfast/version.h"

#include "cli/columns.h"
#include "cli/commands.h"
#include "cli/json.h"
#include "cli/output.h"
#include "cli/setup/libraries.h"
#include "holdfast/spi/descriptor.h"

namespace holdfast::cli {
namespace {

constexpr OptionSpec version_options[] = {
    {"--verbose", "", "also show the stores and libraries"},
};

struct Version {
  bool verbose = false;
};

Version version_of(const Given& given) { return {given.flag("--verbose")}; }

void say_all() {
  print(std::string("holdfast ") + version());
  print("compiled by " + compiler() + ", " HOLDFAST_BUILD_TYPE);
  Rows rows{{"STORE", "LIBRARY", "VERSION"}};
  for (const Library& library : libraries())
    rows.push_back({library.store.empty() ? "-" : library.store, library.name,
                    library.version.empty() ? "not installed" : library.version});
  print(aligned(rows, true, wants_colour(stdout)));
}

Json json_of(const StoreDescriptor& store) {
  const StoreCapabilities& can = store.capabilities;
  return {{"name", store.name},
          {"schemes", Json(store.schemes)},
          {"push", can.push},
          {"fair", can.fair},
          {"durable", can.durable},
          {"jobs", can.jobs},
          {"transactions", can.transactions}};
}

void say_all_as_json() {
  Json all{{"version", version()}, {"compiler", compiler()}, {"build", HOLDFAST_BUILD_TYPE}};
  all["stores"] = Json::array();
  for (const StoreDescriptor& store : store_descriptors()) all["stores"].push_back(json_of(store));
  all["libraries"] = Json::array();
  for (const Library& library : libraries())
    all["libraries"].push_back({{"store", library.store.empty() ? Json() : Json(library.store)},
                                {"name", library.name},
                                {"version", library.version.empty() ? Json() : Json(library.version)}});
  print(line_of(all));
}

int execute(const Version& command, const Common& common) {
  if (command.verbose && common.json)
    say_all_as_json();
  else if (command.verbose)
    say_all();
  else if (common.json)
    print(json_of_texts({{"version", version()}}));
  else
    print(std::string("holdfast ") + version());
  return exit_ok;
}

}  // namespace

constinit const CommandSpec commands::version{
    .name = "version",
    .usage = "[OPTION]...",
    .purpose = "Show the version of Holdfast",
    .options = version_options,
    .more = R"(--verbose loads the drivers of all stores, to ask for their versions.

  holdfast version
  holdfast version --verbose --json)",
    .read = reads<version_of>,
    .store = StoreUse::none,
};

}  // namespace holdfast::cli
