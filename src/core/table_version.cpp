// SPDX-License-Identifier: Apache-2.0
#include "core/table_version.h"

#include <algorithm>
#include <charconv>

namespace holdfast::core {
namespace {

constexpr std::string_view migration = "migrate_";
constexpr std::string_view with_ttl = "  -- with ttl", without_ttl = "  -- without ttl";

}  // namespace

std::string newer_tables(std::int64_t needs) { return newer_tables(std::to_string(needs)); }

std::string newer_tables(std::string_view needs) {
  return " was written by a newer Holdfast (version " + std::string(needs) +
         " of the tables; this Holdfast knows " + std::to_string(table_version) +
         "), so nothing was changed; install the newer one";
}

bool migrates(std::string_view name, std::int64_t version) noexcept {
  if (!name.starts_with(migration)) return false;
  std::int64_t to = 0;
  std::from_chars(name.data() + migration.size(), name.data() + name.size(), to);
  return to > version;
}

std::string_view migrated_table(std::string_view name) noexcept { return name.substr(name.rfind('_') + 1); }

std::string lines_for(std::string_view sql, bool ttl) {
  std::string out;
  while (!sql.empty()) {
    std::string_view line = sql.substr(0, sql.find('\n'));
    const bool ends = line.size() == sql.size();
    sql.remove_prefix(std::min(line.size() + 1, sql.size()));
    const bool only_with = line.ends_with(with_ttl), only_without = line.ends_with(without_ttl);
    if ((only_with && !ttl) || (only_without && ttl)) continue;
    if (only_with || only_without) line = line.substr(0, line.rfind("  --"));
    out += line;
    if (!ends) out += '\n';
  }
  return out;
}

}  // namespace holdfast::core
