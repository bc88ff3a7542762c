// SPDX-License-Identifier: Apache-2.0
// connection.h - one connection to a server, that never waits longer than it is told to.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "holdfast/clock.h"
#include "stores/mariadb/config.h"
#include "stores/mariadb/driver.h"
#include "stores/mariadb/fault.h"

namespace holdfast::mariadb {

// What one statement of a text returned.
class Answer {
 public:
  using Row = std::vector<std::optional<std::string>>;

  std::uint64_t affected = 0;   // rows that it found and changed
  std::uint64_t insert_id = 0;  // what LAST_INSERT_ID(…) said
  std::vector<Row> rows = {};

  bool is_null(std::size_t row, std::size_t column) const { return !rows.at(row).at(column).has_value(); }
  std::string_view text(std::size_t row, std::size_t column) const;
  std::int64_t number(std::size_t row, std::size_t column) const;           // NULL: 0
  std::optional<Micros> moment(std::size_t row, std::size_t column) const;  // NULL: none
};

// One for each statement that was done, up to the first that was not.
struct Answers {
  std::vector<Answer> each = {};
  std::optional<Trouble> trouble = {};

  const Answer& operator[](std::size_t i) const { return each[i]; }
  const Answer& back() const { return each.back(); }
};

// Throws Failure for what ends the connection: then it is of no more use.
class Connection {
 public:
  // `config` must outlive it.
  Connection(const StoreConfig& config, Instant until);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  // Several statements in one text, one round trip.
  Answers run(const std::string& text, Instant until);

  // The other end has closed it meanwhile: what is sent now arrives nowhere.  Or it takes no writes any more:
  // by its name another server may be reached now.
  bool ended() const noexcept;

 private:
  void prepare();
  void connect(Instant until);
  [[noreturn]] void not_let_in() const;
  Answer take(Instant until);
  // Until the driver, which has begun something, has come to its end.  False: not in time.
  template <class Continue>
  bool finish(int status, Continue next, Instant until);
  Trouble trouble() const;
  void cut() noexcept;

  const StoreConfig& config_;
  MYSQL* handle_ = nullptr;
  bool broken_ = false;   // something was begun and is not ended
  bool demoted_ = false;  // it was told that the server takes no writes
};

}  // namespace holdfast::mariadb
