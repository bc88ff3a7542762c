// SPDX-License-Identifier: Apache-2.0
// writes.h - what a key batch has changed, as the statements that end its transaction.
#pragma once
#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/rule.h"
#include "stores/mariadb/tables.h"
#include "stores/mariadb/words.h"

namespace holdfast::mariadb {

// Rows by table, in the order in which they came: that of the keys.
class Writes {
 public:
  explicit Writes(const Tables& tables) : tables_(tables) {}

  // `known`: the row is there, and ours to write.  Else it is made, or 1062 says that somebody was faster.
  void lease(std::string_view key, const core::Record& record, bool known);
  void facts(std::string_view key, const core::Record& record);
  void place(std::string_view key, const core::Place& place, std::int64_t ticket);
  void no_place(std::string_view key, std::string_view client);
  // Nor of any client whose time is over.
  void no_old_places(std::string_view key, std::string_view client, Micros now, std::optional<Micros> latest);
  void log(const LogRow& row);
  // Any other statement, with its semicolon.
  void also(std::string statement) { also_ += statement; }

  bool empty() const noexcept {
    return changed_keys_.empty() && made_.empty() && places_.empty() && log_.empty() && also_.empty();
  }
  std::string text() const;

 private:
  const Tables& tables_;
  std::array<std::string, 4> changed_ = {};  // by column: WHEN key THEN value
  std::string changed_keys_, made_, places_, log_, also_;
};

}  // namespace holdfast::mariadb
