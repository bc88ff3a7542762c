// SPDX-License-Identifier: Apache-2.0
// Darwin's table DARWIN_LOCK: whole seconds of the session's zone, and an unlock key.
#include <algorithm>
#include <charconv>

#include "stores/mariadb/layouts.h"
#include "stores/mariadb/sql.h"

namespace holdfast::mariadb {
namespace {

// Behind it: no `LIKE '%_ID'` of a node finds it, unless its instance is empty or ends in ~ or a wildcard.
constexpr std::string_view darwin_suffix = "_cpp-holdfast~";

// A lease of Java's is live for so long behind its leaseUntil.  A node's own renewal comes when its lease
// ends, which is up to two seconds behind leaseUntil: that has lost the fractions of the node's and of the
// server's time.  So a renewal that is late by a second at most is waited for.
constexpr Micros darwin_grace = std::chrono::seconds(2);

std::string quoted_suffix() { return "'" + std::string(darwin_suffix) + "'"; }

// The unlockKey that marks a row of Darwin's table as this grant.
std::string unlock_key(Token token) {
  char digits[16];
  const auto end = std::to_chars(std::begin(digits), std::end(digits), to_number(token), 16).ptr;
  return std::string(digits, end) + std::string(darwin_suffix);
}

// Its NOW() has lost its fraction, and what is written loses its too.
std::string lease_until(const core::Record& record, Micros now) {
  if (!record.end) return "'9999-12-31 23:59:59'";
  const auto left = std::chrono::ceil<std::chrono::seconds>(std::max(*record.end - now, Micros::zero()));
  return "NOW() + INTERVAL " + std::to_string(left.count() + 1) + " SECOND";
}

class DarwinRow final : public ForeignRow {
 public:
  DarwinRow(const Answer& row, core::Record& record, Micros now) {
    there_ = !row.rows.empty();
    if (!there_) {
      // Somebody has taken our row away: by instance, or by hand.
      if (record.live(now)) record.end = core::last_end_before(now);
      return;
    }
    foreign_ = row.text(0, 0) != unlock_key(record.token);
    if (!foreign_) return;
    record.owner = std::string(row.text(0, 0)) + " (Darwin)";
    record.end = now + Micros(row.number(0, 1)) + darwin_grace;
    record.since = Micros::zero();
    // Behind its end the next token follows on ours.
    if (record.live(now)) hide(record, record.owner);
  }

  std::string write(std::string_view key, const core::Record& before, const core::Record& after, Micros now,
                    const Tables& tables) const override {
    if (after.owner.empty())
      return tables.sql(Sql::delete_darwin_row,
                        {{"key", tables.key(key)}, {"unlock_key", hex(unlock_key(before.token))}});
    return tables.sql(there_ ? Sql::update_darwin_row : Sql::insert_darwin_row,
                      {{"key", tables.key(key)},
                       {"lease_until", lease_until(after, now)},
                       {"unlock_key", "_utf8mb4 " + hex(unlock_key(after.token))}});
  }
};

}  // namespace

constinit const ForeignLayout darwin_layout{
    .name = "darwin",
    .table = "DARWIN_LOCK",
    .key = "processName",
    .owner = "unlockKey",
    .read = [](const Answer& row, core::Record& record, Micros now, std::size_t)
        -> std::unique_ptr<ForeignRow> { return std::make_unique<DarwinRow>(row, record, now); },
    .lock_row = Sql::lock_darwin_row,
    .list = Sql::list_darwin_leases,
    .list_values = []() -> Values {
      return {{"suffix", quoted_suffix()}, {"grace", std::to_string(darwin_grace.count())}};
    },
    // Without their keys nobody would know that they are ours.
    .purge =
        [](const Tables& tables, const std::string& keys) {
          return tables.sql(Sql::delete_darwin_rows, {{"keys", keys}, {"suffix", quoted_suffix()}});
        },
    .weakness =
        "layout=darwin: times are local and in whole seconds, so a Java process can take over a "
        "lease when its time zone changes the clock",
};

}  // namespace holdfast::mariadb
