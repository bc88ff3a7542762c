// SPDX-License-Identifier: Apache-2.0
// sql_keys.h - the keys of a lock table of SQL, by plain statements.
#pragma once
#include <algorithm>
#include <cstdint>
#include <functional>
#include <string>

#include "bench/subject.h"

namespace holdfast::bench {

// What each database says in its own way.
struct SqlWords {
  std::string key;   // the column
  std::string name;  // of the copy with the number n.i
  std::function<std::string(std::uint64_t from, std::uint64_t to)> numbers;  // the rows n, with these as i
  std::string tidy;  // a statement, as the server would run it by itself a little later; empty: none
};

class SqlKeys final : public KeysByHand {
 public:
  // `run` runs a statement and says how many rows it returned.
  SqlKeys(std::string table, SqlWords words, std::function<std::size_t(const std::string&)> run)
      : table_(std::move(table)), words_(std::move(words)), run_(std::move(run)) {}

  void copy_seed(std::uint64_t count) override {
    constexpr std::uint64_t at_once = 100'000;
    const std::string rest = ", locked_by, locked_at, locked_until, sequence";
    for (std::uint64_t from = 1; from <= count; from += at_once) {
      run_("INSERT INTO " + table_ + " (" + words_.key + rest + ") SELECT " + words_.name + rest + " FROM " +
           table_ + ", " + words_.numbers(from, std::min(count, from + at_once - 1)) + " WHERE " +
           words_.key + " = '" + seed + "'");
    }
    if (!words_.tidy.empty()) run_(words_.tidy);
  }
  std::size_t read_all(std::size_t limit) override { return read("", limit); }
  std::size_t read_held(std::size_t limit) override { return read(" WHERE locked_by IS NOT NULL", limit); }

 private:
  std::size_t read(const std::string& which, std::size_t limit) {
    return run_("SELECT * FROM " + table_ + which + " ORDER BY " + words_.key + " LIMIT " +
                std::to_string(limit));
  }

  const std::string table_;
  const SqlWords words_;
  const std::function<std::size_t(const std::string&)> run_;
};

}  // namespace holdfast::bench
