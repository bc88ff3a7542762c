// SPDX-License-Identifier: Apache-2.0
#include "cli/setup/configuration.h"

#include <algorithm>

#include "base/process.h"
#include "base/text.h"
#include "cli/setup/secrets.h"
#include "cli/setup/small_file.h"
#include "cli/words/spec.h"

namespace holdfast::cli {
namespace {

constexpr const char* of_the_machine = "/etc/holdfast/config.toml";

Error unusable(const std::string& path, const std::string& why) {
  return {Errc::refused, "cannot use the configuration " + printable(path) + ": " + why};
}

void keep_secrets_of(const ConfigFile& file) {
  if (file.store) keep_secret(file.store->text);
  for (const StoreEntry& store : file.stores) {
    keep_secret(store.url);
    keep_password_secret(store.password);
  }
}

Result<ConfigFile> read_file(const std::string& path) {
  auto read = read_small_file(path);
  if (!read) return unusable(path, read.error().detail);
  if (!read->has_value()) return ConfigFile{path, false, {}, {}, {}, {}};
  const SmallFile& file = **read;
  if (const std::string why = distrust(file); !why.empty()) return unusable(path, why);
  auto parsed = parse_config(file.text, path);
  if (!parsed || !parsed->has_secret()) return parsed;
  keep_secrets_of(*parsed);
  if (!file.is_private())
    return unusable(path,
                    "it contains a password, and others may read it; run chmod 600, or use password-file");
  return parsed;
}

const Entry* setting_in(const Section& section, std::string_view name) {
  const bool waiting = name == "wait" || name == "nonblock";
  if (!waiting) return section.find(name);
  const Entry* const wait = section.find("wait");
  return wait != nullptr ? wait : section.find("nonblock");
}

bool is_given(const Given& given, const Setting& setting) {
  if (setting.name == "wait" || setting.is_flag()) return given.text("--wait") || given.flag("--nonblock");
  return given.text(setting.option()).has_value();
}

}  // namespace

const Entry* Configuration::store() const {
  for (const ConfigFile& file : files) {
    if (file.store) return &*file.store;
  }
  return nullptr;
}

const Entry* Configuration::store_required() const {
  for (const ConfigFile& file : files) {
    if (file.require_store && file.require_store->text == "true") return &*file.require_store;
  }
  return nullptr;
}

const StoreEntry* Configuration::store_named(std::string_view name) const {
  for (const ConfigFile& file : files) {
    for (const StoreEntry& store : file.stores) {
      if (store.name == name) return &store;
    }
  }
  return nullptr;
}

const Entry* Configuration::setting(std::string_view key, std::string_view name) const {
  for (const ConfigFile& file : files) {
    for (const Section& section : file.sections) {
      if (!key.starts_with(section.prefix)) continue;
      if (const Entry* const found = setting_in(section, name); found != nullptr) return found;
    }
  }
  return nullptr;
}

std::vector<std::string> Configuration::store_names() const {
  std::vector<std::string> names;
  for (const ConfigFile& file : files) {
    for (const StoreEntry& store : file.stores) names.push_back(store.name);
  }
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

std::vector<std::string> configuration_paths() {
  return {user_folder("XDG_CONFIG_HOME", ".config") + "/holdfast/config.toml", of_the_machine};
}

Result<Configuration> read_configuration(std::span<const std::string> paths) {
  Configuration all;
  for (const std::string& path : paths) {
    auto file = read_file(path);
    if (!file) return std::move(file).error();
    all.files.push_back(*std::move(file));
  }
  return all;
}

std::vector<Entry> substitute(const Configuration& configuration, Given& given) {
  std::vector<Entry> taken;
  const Text key = given.word(0);
  if (!key) return taken;
  for (const Setting& setting : settings) {
    if (find_option(*given.command, setting.option()) == nullptr || is_given(given, setting)) continue;
    const Entry* const entry = configuration.setting(*key, setting.name);
    // wait and nonblock are looked up together, and taken once.
    if (entry == nullptr || entry->name != setting.name) continue;
    given.set(setting.option(), entry->text, entry->from);
    taken.push_back(*entry);
  }
  return taken;
}

Error blamed(Error error, std::span<const Entry> filled_in) {
  for (const Entry& entry : filled_in) {
    if (error.detail.find("--" + entry.name) != std::string::npos)
      error.detail += "; " + entry.name + " is set in " + printable(entry.from);
  }
  return error;
}

}  // namespace holdfast::cli
