// SPDX-License-Identifier: Apache-2.0
#include "stores/sqlite/tables.h"

#include <algorithm>

#include "base/text.h"

namespace holdfast::sqlite {
namespace {

constexpr std::size_t longest_name = 48;

char lower_case(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }
bool digit(char c) { return c >= '0' && c <= '9'; }
bool letter(char c) { return (lower_case(c) >= 'a' && lower_case(c) <= 'z') || c == '_'; }

}  // namespace

Result<Tables> Tables::named(std::string_view table) {
  const bool formed = !table.empty() && table.size() <= longest_name && letter(table.front()) &&
                      std::all_of(table.begin(), table.end(), [](char c) { return letter(c) || digit(c); });
  if (!formed) {
    return Error{Errc::invalid,
                 "'" + printable(table) +
                     "' cannot be a table name; give 1 to 48 letters, digits and _, and no digit first"};
  }
  std::string name(table);
  std::transform(name.begin(), name.end(), name.begin(), lower_case);
  if (name.starts_with("sqlite_") || name.find("holdfast_") != std::string::npos) {
    return Error{Errc::invalid,
                 "the table name '" + name +
                     "' is reserved, because it starts with sqlite_ or contains holdfast_; give another one"};
  }
  return Tables(std::move(name));
}

std::string Tables::beside(std::string_view word) const {
  return (name_ == "locks" ? "holdfast_" : name_ + "_holdfast_") + std::string(word);
}

Tables Tables::in(std::string_view schema) const {
  Tables there(name_);
  there.in_ = "\"";
  for (const char c : schema) there.in_ += c == '"' ? "\"\"" : std::string(1, c);
  there.in_ += "\".";
  return there;
}

std::string Tables::expand(std::string_view sql) const {
  return substitute(sql, [this](std::string_view word) {
    if (word == "sqlite_schema") return in_ + "sqlite_schema";
    return in_ + '"' + (word == "locks" ? name_ : beside(word)) + '"';
  });
}

}  // namespace holdfast::sqlite
