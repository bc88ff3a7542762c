// SPDX-License-Identifier: Apache-2.0
// kept.h - the leases of a transaction as sql/read.sql has locked and read them, and how what core/rule.h has
// decided about them is written.
#pragma once
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/rule.h"
#include "stores/mariadb/connection.h"
#include "stores/mariadb/writes.h"

namespace holdfast::mariadb {

// A key's row and queue, as they were locked.
struct Kept {
  core::Record record = {};
  bool known = false;  // it has a row
  std::map<std::string, std::int64_t, std::less<>> tickets = {};
  std::int64_t last_ticket = 0;
};

struct Seen {
  std::map<std::string, Kept, std::less<>> keys = {};
  core::LeaseMoment moment = {};

  static constexpr std::size_t answers = 3;  // so many are of read.sql
};

// `answers`: those of read.sql.  Where the table `state` has not its row, no moment is known.
bool has_state(std::span<const Answer> answers);
// `collated`: where a collation says what is one key, only one was asked for.
Seen seen_in(std::span<const Answer> answers, const std::vector<std::string_view>& asked, bool collated);

// What `outcome` has made of `before`.
void write(Writes& writes, const Request& request, const Kept& before, const core::Record& record,
           const core::Outcome& outcome, std::string_view client, Micros now);

// How a transaction ends, and then the connection may be idle for as long as the server likes again.
inline constexpr const char* undo = "ROLLBACK;SET wait_timeout = DEFAULT;";
// If the server's clock is past `void_after` the text ends by the error `too_late`, and nothing is committed.
std::string commit_unless_late(const Tables& tables, std::int64_t void_after);
inline constexpr unsigned too_late = 1242;

}  // namespace holdfast::mariadb
