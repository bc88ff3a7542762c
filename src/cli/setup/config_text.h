// SPDX-License-Identifier: Apache-2.0
// config_text.h - one file of the configuration, understood.
//
//   store = "prod"                   # a name of [stores], a URL or @/FILE
//   require-store = true             # somebody has to say which: the user's own file is not used
//   [stores]
//   prod = "URL"
//   cache = { url = "URL", password-file = "/etc/holdfast/cache.secret" }
//   [defaults]                       # of every key
//   ttl = "30s"
//   [keys."nightly/"]                # of keys that begin so
//   wait = "1h"
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "holdfast/result.h"

namespace holdfast::cli {

struct Entry {
  std::string name;
  std::string text;
  std::string from;  // FILE:LINE
};

struct StoreEntry {
  std::string name;
  std::string url;  // or @/FILE
  std::string password;
  std::string password_file;
  std::string from;

  bool has_secret() const;  // in the file itself
};

struct Section {
  std::string prefix;  // of keys; empty: of all
  std::vector<Entry> entries;

  const Entry* find(std::string_view name) const;
};

struct ConfigFile {
  std::string path;
  bool there = false;
  std::optional<Entry> store;
  std::optional<Entry> require_store;  // "true" or "false"
  std::vector<StoreEntry> stores;
  std::vector<Section> sections;  // the longest prefix first

  bool has_secret() const;
};

// An option of `run`, and perhaps of `acquire`, that a configuration may set.
struct Setting {
  std::string_view name;       // the option's long name
  std::string_view otherwise;  // the default, as it can be written

  std::string option() const { return "--" + std::string(name); }
  // It has no value: true or false.
  bool is_flag() const { return name == "nonblock"; }
};

// --owner is not among them, because all processes with one owner count as one holder; nor are --tick and
// --every, which belong to one crontab line.  wait and nonblock answer the same question: setting one sets
// both.
inline constexpr Setting settings[] = {
    {"ttl", "30s"},     {"wait", "forever"},    {"nonblock", "false"},
    {"note", ""},       {"on-lost", "term"},    {"kill-after", "auto"},
    {"at-least", "0s"}, {"at-most", "forever"}, {"conflict-exit-code", "75"},
};

// Every value is checked as its option would be.  The error is Errc::invalid, one sentence that begins with
// FILE:LINE, says what would be right, and holds no password.
Result<ConfigFile> parse_config(std::string_view text, const std::string& path);

// Of the library that reads it: "3.3.0".
std::string toml_version();

// A URL has a colon, and the name of a store has none.
inline bool is_store_name(std::string_view word) {
  return word.find(':') == std::string_view::npos && !word.starts_with('@');
}

}  // namespace holdfast::cli
