// SPDX-License-Identifier: Apache-2.0
// configuration.h - what the files say, the user's before the machine's.
//
// For an option of a key: the command line, then the user's file (the longest prefix first, [defaults] last),
// then the machine's in the same order.  Each option is looked up by itself.
#pragma once
#include <span>
#include <string>
#include <vector>

#include "cli/setup/config_text.h"

namespace holdfast::cli {

struct Given;

struct Configuration {
  std::vector<ConfigFile> files;  // also those that are not there

  const Entry* store() const;
  // Where it says that somebody has to say which store; null: nowhere.  No file takes back what another says.
  const Entry* store_required() const;
  const StoreEntry* store_named(std::string_view name) const;
  // As the settings are named; wait and nonblock are one: whichever is said first.
  const Entry* setting(std::string_view key, std::string_view name) const;
  std::vector<std::string> store_names() const;
};

// ${XDG_CONFIG_HOME:-~/.config}/holdfast/config.toml and /etc/holdfast/config.toml
std::vector<std::string> configuration_paths();

// Errc::invalid: what a file says is wrong.  Errc::refused: it cannot be read; or somebody but us and root
// could have written it; or it holds a password that others may read.  Passwords are secret from here on.
Result<Configuration> read_configuration(std::span<const std::string> paths);

// What was not given to `run` or `acquire`, from the configuration.  Returns what it took.
std::vector<Entry> substitute(const Configuration& configuration, Given& given);

// The error with the places of those that it names.
Error blamed(Error error, std::span<const Entry> filled_in);

}  // namespace holdfast::cli
