// SPDX-License-Identifier: Apache-2.0
// leases.h - leases in a transaction: as lock_leases of leases.sql has locked and read them, and how what
// core/rule.h has decided about them is written.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/rule.h"
#include "stores/mariadb/connection.h"
#include "stores/mariadb/tables.h"

namespace holdfast::mariadb {

// A key's row and queue.
struct LockedLease {
  core::Record record = {};
  bool exists = false;  // it has a row
  std::map<std::string, std::int64_t, std::less<>> tickets = {};
  std::int64_t last_ticket = 0;
};

struct LockedLeases {
  std::map<std::string, LockedLease, std::less<>> keys = {};
  core::LeaseMoment moment = {};

  static constexpr std::size_t answers = 3;  // of lock_leases
};

// `answers`: those of lock_leases.  If the table `state` has lost its row, no moment is known.
bool has_state(std::span<const Answer> answers);
// `collated`: a collation decides which keys are equal, and only one was asked for.
LockedLeases leases_in(std::span<const Answer> answers, const std::vector<std::string_view>& asked,
                       bool collated);

// The statements that end a transaction: rows by table, in the order in which they came, which is that of the
// keys.
class Writes {
 public:
  explicit Writes(const Tables& tables) : tables_(tables) {}

  // What `outcome` has made of `before`.
  void add(const Request& request, const LockedLease& before, const core::Record& record,
           const core::Outcome& outcome, std::string_view client, Micros now);
  // Any other statement.
  void add(std::string statement) { others_ += statement; }

  bool empty() const noexcept {
    return updated_keys_.empty() && inserted_.empty() && positions_.empty() && log_.empty() &&
           others_.empty();
  }
  std::string text() const;

 private:
  // `exists`: the row is there and locked.  Else it is inserted, or fails with 1062 if another client was
  // faster.
  void lease(std::string_view key, const core::Record& record, bool exists);
  void facts(std::string_view key, const core::Record& record);
  void position(std::string_view key, const core::Place& place, std::int64_t ticket);
  void log(const LogRow& row);

  const Tables& tables_;
  // WHEN key THEN value, and the keys.  ttls_ and ttl_ends_ begin with a line for no key: they may have no
  // other.
  std::string owners_, starts_, ends_, tokens_, updated_keys_;
  std::string ttls_ = "WHEN NULL THEN NULL", ttl_ends_ = ttls_;
  std::string inserted_, positions_, log_, others_;
};

// Commits, if the server's clock is not past `void_after`; else nothing is committed, and the error is
// `too_late`.
std::string commit_in_time(const Tables& tables, std::int64_t void_after);
inline constexpr unsigned too_late = 1242;

}  // namespace holdfast::mariadb
