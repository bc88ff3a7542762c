// SPDX-License-Identifier: Apache-2.0
// darwin.h - a lock of Darwin's table DARWIN_LOCK, beside what we keep of it ourselves.
//
// Java's nodes see only that table: whole seconds of the session's zone, and an unlock key.  What it has no
// column for (token, exact times, queue, note) is in ours.  A lease of ours is true as long as its row stands
// in both; a row of another's unlock key is another's lease.
#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "core/rule.h"
#include "stores/mariadb/connection.h"

namespace holdfast::mariadb {

// Behind it: no `LIKE '%_ID'` of a node finds it, unless its instance is empty or ends in ~ or a wildcard.
inline constexpr std::string_view darwin_suffix = "_cpp-holdfast~";

// A lease of Java's is live for so long behind its leaseUntil.  A node's own renewal comes when its lease
// ends, which is up to two seconds behind leaseUntil: that has lost the fractions of the node's and of the
// server's time.  So a renewal that is late by a second at most is waited for.
inline constexpr Micros darwin_grace = std::chrono::seconds(2);

// What stands in the table for that grant of ours.
std::string unlock_key(Token token);

class Darwin {
 public:
  // `row` is what lock_darwin_row of darwin.sql found.  Makes `record` what is true of both tables.
  Darwin(const Answer& row, core::Record& record, Micros now);

  // A lease that was not ours has its own name, and no token.
  void correct(core::Outcome& outcome) const;

  // The statement that makes the table follow.
  std::string write(std::string_view key, const core::Record& before, const core::Record& after, Micros now,
                    const Tables& tables) const;

 private:
  bool there_ = false, foreign_ = false;
  std::string live_ = {};  // a lease of Java's, as people are told it; empty: none
};

}  // namespace holdfast::mariadb
