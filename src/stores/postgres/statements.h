// SPDX-License-Identifier: Apache-2.0
// statements.h - what is sent and what comes back: statements, their parameters and their answers.
#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "holdfast/clock.h"
#include "stores/postgres/driver.h"
#include "stores/postgres/fault.h"
#include "stores/postgres/sql.h"
#include "stores/postgres/tables.h"

namespace holdfast::postgres {

// In PostgreSQL's binary form: nothing to quote, nothing to copy twice.
// Values for $1, $2 … in order.  Texts are not copied: they must outlive the call.
class Parameters {
 public:
  static constexpr int most = 17;

  void clear() noexcept {
    count_ = 0;
    kept_.clear();
  }

  Parameters& text(std::string_view value);
  Parameters& number(std::int64_t value);
  Parameters& number(std::optional<std::int64_t> value);  // none: NULL
  Parameters& flag(bool value);
  Parameters& nothing();  // NULL

  // Arrays: begin, then each element, of one kind.
  Parameters& texts();
  Parameters& numbers();
  void add(std::string_view element);
  void add(std::optional<std::int64_t> element);

  int count() const noexcept { return count_; }
  // As libpq takes them.  Valid until the next change.
  const char* const* values() noexcept;
  const int* lengths() const noexcept { return lengths_.data(); }
  const int* formats() const noexcept { return formats_.data(); }

 private:
  void begin_array(std::uint32_t element_type);
  void put(std::uint32_t word);
  void patch(std::size_t at, std::uint32_t word);
  void grow_array();

  int count_ = 0;
  std::array<const char*, most> values_{};
  std::array<std::size_t, most> starts_{};  // in kept_; npos: values_ says it
  std::array<int, most> lengths_{}, formats_{};
  std::string kept_;
};

// What a statement returned.
class Answer {
 public:
  Answer() = default;
  explicit Answer(OwnedResult result) : result_(std::move(result)) {}
  explicit Answer(Trouble trouble) : trouble_(std::move(trouble)) {}

  // None: it was done.
  const std::optional<Trouble>& trouble() const noexcept { return trouble_; }

  int rows() const noexcept { return PQntuples(result_.get()); }
  bool is_null(int row, int column) const noexcept { return PQgetisnull(result_.get(), row, column) == 1; }
  std::string_view text(int row, int column) const noexcept;
  char letter(int row, int column) const noexcept { return *PQgetvalue(result_.get(), row, column); }
  bool flag(int row, int column) const noexcept { return letter(row, column) == 't'; }
  std::int64_t number(int row, int column) const noexcept;  // NULL: 0
  // Microseconds since 1970, or zero if before; none: NULL.
  std::optional<Micros> moment(int row, int column) const noexcept;

 private:
  OwnedResult result_;
  std::optional<Trouble> trouble_;
};

// A statement that comes again and again.
struct Statement {
  std::string name;  // it is prepared under
  std::string text;
  std::uint8_t times = 0;  // its connection has run it: never, once, more often
};

// One of several in a transaction.
struct Step {
  Statement& statement;
  Parameters& parameters;
};

// Those of *.sql for one set of tables, on one connection.
class Statements {
 public:
  explicit Statements(Tables tables) : tables_(std::move(tables)) {}

  Statement& operator[](Sql sql);

 private:
  Tables tables_;
  std::array<std::optional<Statement>, sql_count> known_;
};

}  // namespace holdfast::postgres
