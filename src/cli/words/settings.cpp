// SPDX-License-Identifier: Apache-2.0
#include "cli/words/settings.h"

namespace holdfast::cli {

void check_setting(const Setting& setting, const std::string& text) {
  if (setting.into == nullptr) return;
  Given given;
  given.key = "any";
  given.*setting.into = text;
  try {
    // Whether it fits into a lease is seen where the ttl beside it is known; here it meets the longest.
    if (setting.into == &Given::kill_after) given.ttl = "36525d";
    (void)command_from("run", given, {"any"});
  } catch (const Failure& failure) {
    const std::string name(setting.name);
    const std::string& why = failure.error().detail;
    const bool named = why.starts_with("--" + name);
    refuse(named ? why.substr(2) : name + ": " + why);
  }
}

}  // namespace holdfast::cli
