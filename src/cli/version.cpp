// SPDX-License-Identifier: Apache-2.0
// version.cpp - `holdfast version` and `holdfast help`: what needs no store.
#include "holdfast/version.h"

#include "cli/commands.h"
#include "cli/json.h"
#include "cli/output.h"

namespace holdfast::cli {

int execute(const Version&, const Common& common) {
  if (common.json)
    say(json_of_texts({{"version", version()}}));
  else
    say(std::string("holdfast ") + version());
  return exit_ok;
}

int execute(const Help& command, const Common&) {
  std::fputs(command.text.c_str(), stdout);
  return exit_ok;
}

}  // namespace holdfast::cli
