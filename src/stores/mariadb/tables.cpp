// SPDX-License-Identifier: Apache-2.0
#include "stores/mariadb/tables.h"

#include <algorithm>

#include "base/text.h"
#include "stores/mariadb/words.h"

namespace holdfast::mariadb {
namespace {

constexpr std::size_t longest = 41;  // and 23 for what we put behind it

bool digit(char c) { return c >= '0' && c <= '9'; }
bool letter(char c) { return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_'; }

// Since 1970, as a number: no session's zone has a say in it.
std::string us(std::string_view moment) {
  return "TIMESTAMPDIFF(MICROSECOND, '1970-01-01', " + std::string(moment) + ")";
}

std::string without_comments(std::string_view sql) {
  std::string out;
  while (!sql.empty()) {
    const std::string_view line = sql.substr(0, std::min(sql.find('\n'), sql.size() - 1) + 1);
    if (!line.starts_with("--")) out += line;
    sql.remove_prefix(line.size());
  }
  return out;
}

}  // namespace

Result<Tables> Tables::named(std::string_view table, Layout layout) {
  const bool formed = !table.empty() && table.size() <= longest && letter(table.front()) &&
                      std::all_of(table.begin(), table.end(), [](char c) { return letter(c) || digit(c); });
  if (!formed)
    return Error{Errc::invalid,
                 "'" + printable(table) +
                     "' cannot be a table name; give 1 to 41 letters, digits and _, and no digit first"};
  if (table.find("holdfast_") != std::string_view::npos)
    return Error{Errc::invalid, "the table name '" + std::string(table) +
                                    "' is reserved, because it contains holdfast_; give another one"};
  Tables tables;
  tables.name_ = table;
  tables.layout_ = layout;
  return tables;
}

std::vector<std::string_view> Tables::words() const {
  std::vector<std::string_view> words = {"locks", "waiters", "facts", "log", "state"};
  if (darwin()) words.insert(words.begin(), "darwin");
  return words;
}

std::vector<std::string_view> Tables::job_words() const {
  return darwin() ? std::vector<std::string_view>{} : std::vector<std::string_view>{"jobs", "ticks"};
}

std::string Tables::called(std::string_view word) const {
  if (word == (darwin() ? "darwin" : "locks")) return name_;
  return (name_ == "locks" ? "holdfast_" : name_ + "_holdfast_") + std::string(word);
}

std::string Tables::key(std::string_view text) const { return (darwin() ? "_utf8mb4 " : "") + hex(text); }

Tables Tables::at(Micros now) const {
  Tables fixed = *this;
  fixed.fixed_now_ = now;
  return fixed;
}

std::string Tables::put_in(std::string_view word) const {
  if (fixed_now_) {
    const std::string number = std::to_string(fixed_now_->count());
    if (word == "now" || word == "clock")
      return "(TIMESTAMP'1970-01-01 00:00:00.000000' + INTERVAL " + number + " MICROSECOND)";
    if (word == "now_us" || word == "clock_us") return number;
  }
  // When the statement began.
  if (word == "now") return "UTC_TIMESTAMP(6)";
  if (word == "now_us") return us("UTC_TIMESTAMP(6)");
  // Goes on while a statement waits for a row.  In the session's zone: that is UTC but in Darwin's layout,
  // whose statements do not use it.
  if (word == "clock") return "SYSDATE(6)";
  if (word == "clock_us") return us("SYSDATE(6)");
  // core::latest_end
  if (word == "last_day") return "TIMESTAMP'6536-10-29 20:41:15.855872'";
  if (word.starts_with("us(")) return us(word.substr(3, word.size() - 4));
  // In bytewise order, whatever the column's own is.
  if (word.starts_with("bytes(")) {
    const std::string column(word.substr(6, word.size() - 7));
    return darwin() ? "CAST(CONVERT(" + column + " USING utf8mb4) AS BINARY)" : column;
  }
  for (const auto& all : {words(), job_words()})
    if (std::find(all.begin(), all.end(), word) != all.end()) return "`" + called(word) + "`";
  return "{" + std::string(word) + "}";
}

std::string Tables::expand(std::string_view sql) const {
  return substitute(without_comments(sql), [this](std::string_view word) { return put_in(word); });
}

std::string Tables::expand_for_people(std::string_view sql, const std::string& key_type) const {
  return substitute(sql, [&](std::string_view word) { return word == "key_type" ? key_type : put_in(word); });
}

}  // namespace holdfast::mariadb
