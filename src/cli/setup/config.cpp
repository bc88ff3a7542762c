// SPDX-License-Identifier: Apache-2.0
// config.cpp - `holdfast config [KEY]`: what the configuration says, and where.
#include "base/url.h"
#include "cli/columns.h"
#include "cli/commands.h"
#include "cli/json.h"
#include "cli/output.h"
#include "cli/setup/secrets.h"
#include "cli/setup/store_url.h"
#include "cli/words/values.h"

namespace holdfast::cli {
namespace {

struct Config {
  std::string key;  // empty: all
};

Config config_of(const Given& given) { return {given.words.empty() ? "" : key_of(given)}; }

std::string shown_url(const std::string& url, const std::string& password, const std::string& password_file) {
  if (!password.empty()) return redacted(with_password(url, password));
  return redacted(url) + (password_file.empty() ? "" : ", password in " + password_file);
}

Row row_of_store(const Setup& setup) {
  const StoreChoice& store = setup.store;
  if (setup.no_store) return {"store", without_secrets(setup.no_store->detail), store.from};
  return {"store", shown_url(store.url, store.password, store.password_file), store.from};
}

std::string quoted(const std::string& prefix) {
  std::string out = "\"";
  for (const char c : prefix) out += (c == '"' || c == '\\') ? std::string("\\") + c : std::string(1, c);
  return out + "\"";
}

void add_rows_of(const ConfigFile& file, Rows& rows) {
  for (const StoreEntry& store : file.stores)
    rows.push_back(
        {"stores." + store.name, shown_url(store.url, store.password, store.password_file), store.from});
  for (const Section& section : file.sections) {
    const std::string where = section.prefix.empty() ? "defaults." : "keys." + quoted(section.prefix) + ".";
    for (const Entry& entry : section.entries) rows.push_back({where + entry.name, entry.text, entry.from});
  }
}

Rows all_of(const Setup& setup) {
  Rows rows;
  for (const ConfigFile& file : setup.configuration.files)
    rows.push_back({"file", file.path, file.there ? "read" : "not there"});
  rows.push_back(row_of_store(setup));
  if (const Entry* const required = setup.configuration.store_required(); required != nullptr)
    rows.push_back({required->name, required->text, required->from});
  for (const ConfigFile& file : setup.configuration.files) add_rows_of(file, rows);
  return rows;
}

Rows of_key(const Setup& setup, const std::string& key) {
  Rows rows{row_of_store(setup)};
  for (const Setting& setting : settings) {
    const Entry* const entry = setup.configuration.setting(key, setting.name);
    const std::string name(setting.name);
    const bool waits = entry == nullptr || entry->text != "true" || entry->name != "nonblock";
    // One of the two is said.
    if ((name == "wait" && !waits) || (name == "nonblock" && waits)) continue;
    const bool said = entry != nullptr && (entry->name == name);
    rows.push_back({name, said ? entry->text : std::string(setting.otherwise),
                    entry != nullptr ? entry->from : "default"});
  }
  return rows;
}

int execute(const Config& command, const Common& common) {
  Rows rows = command.key.empty() ? all_of(*common.setup) : of_key(*common.setup, command.key);
  if (common.json) {
    for (const Row& row : rows) print(json_of_texts({{"name", row[0]}, {"value", row[1]}, {"from", row[2]}}));
  } else {
    rows.insert(rows.begin(), {"NAME", "VALUE", "FROM"});
    print(aligned(rows, true, wants_colour(stdout)));
  }
  return common.setup->no_store ? fail(*common.setup->no_store) : exit_ok;
}

}  // namespace

constinit const CommandSpec commands::config{
    .name = "config",
    .usage = "[KEY]",
    .purpose = "Show the configuration, and which file sets what",
    .more =
        R"(Reads ~/.config/holdfast/config.toml (in $XDG_CONFIG_HOME), then /etc/holdfast/config.toml; passwords are not shown.
With KEY: what `run KEY` would use. This is decided for each value on its own: the user's file wins over the machine's.
Within a file, the longest matching prefix of KEY wins.

  holdfast config
  holdfast config nightly/backup)",
    .read = reads<config_of>,
    .store = StoreUse::named,
};

}  // namespace holdfast::cli
