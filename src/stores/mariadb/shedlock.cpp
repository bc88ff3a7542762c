// SPDX-License-Identifier: Apache-2.0
// ShedLock's table: the end of a lock in milliseconds of UTC, and who has it.  A lock is live before its
// lock_until, and no more at it.  A row stays when its lock is free: a JVM that has seen it does not insert
// it again.
#include <algorithm>
#include <charconv>

#include "stores/mariadb/layouts.h"
#include "stores/mariadb/sql.h"

namespace holdfast::mariadb {
namespace {

// A TIMESTAMP has no later time, in any zone: 2038-01-18.  For ShedLock a lease ends then at the latest.
constexpr Micros latest_timestamp = std::chrono::seconds(2'147'385'600);

Micros whole_ms(Micros moment) { return std::chrono::floor<Millis>(moment); }

// Behind the end of ours, so that ShedLock never takes what we still call live.
Micros lock_until(const core::Record& record) {
  if (!record.end || *record.end >= latest_timestamp) return latest_timestamp;
  return whole_ms(*record.end) + Millis(1);
}

// What ends the locked_by of that grant.  No JVM calls itself so: it is not taken for its own lock.
std::string mark(Token token) {
  char digits[16];
  const auto end = std::to_chars(std::begin(digits), std::end(digits), to_number(token), 16).ptr;
  return "holdfast-" + std::string(digits, end);
}

// With the owner for people, as far as it fits and every character set has its letters.
std::string locked_by(const core::Record& record, std::size_t letters) {
  const std::string end = mark(record.token);
  std::string shown = record.owner.substr(0, letters - std::min(letters, end.size() + 1));
  for (char& letter : shown)
    if (letter < ' ' || letter > '~') letter = '?';
  return shown.empty() ? end : shown + " " + end;
}

class ShedlockRow final : public ForeignRow {
 public:
  ShedlockRow(const Answer& row, core::Record& record, Micros now, std::size_t letters) : letters_(letters) {
    there_ = !row.rows.empty();
    const Micros until = there_ ? row.moment(0, 1).value_or(Micros::zero()) : Micros::zero();
    foreign_ = there_ && !row.text(0, 0).ends_with(mark(record.token));
    if (there_ && !foreign_) {
      // Somebody has unlocked it: a JVM that does not look whose it is, or a person.
      if (record.live(now) && until < lock_until(record)) record.end = until - Micros(1);
    } else if (foreign_ && until > now) {
      record.end = until - Micros(1);
      record.since = Micros::zero();
      hide(record, std::string(row.text(0, 0)) + " (ShedLock)");
    } else if (record.live(now)) {
      // Another had it meanwhile, or its row was deleted.
      record.end = core::last_end_before(now);
    }
  }

  std::string write(std::string_view key, const core::Record& before, const core::Record& after, Micros now,
                    const Tables& tables) const override {
    if (after.owner.empty())
      return tables.sql(Sql::free_shedlock_row,
                        {{"key", tables.key(key)},
                         {"lock_until", datetime(whole_ms(now))},
                         {"locked_by", "_utf8mb4 " + hex(locked_by(before, letters_))}});
    return tables.sql(there_ ? Sql::update_shedlock_row : Sql::insert_shedlock_row,
                      {{"key", tables.key(key)},
                       {"lock_until", datetime(lock_until(after))},
                       {"locked_at", datetime(whole_ms(after.since))},
                       {"locked_by", "_utf8mb4 " + hex(locked_by(after, letters_))}});
  }

 private:
  const std::size_t letters_;
};

}  // namespace

constinit const ForeignLayout shedlock_layout{
    .name = "shedlock",
    .table = "shedlock",
    .key = "name",
    .owner = "locked_by",
    .read = [](const Answer& row, core::Record& record, Micros now, std::size_t letters)
        -> std::unique_ptr<ForeignRow> { return std::make_unique<ShedlockRow>(row, record, now, letters); },
    .lock_row = Sql::lock_shedlock_row,
    .list = Sql::list_shedlock_leases,
    .list_values = [] { return Values{}; },
    .purge = [](const Tables&, const std::string&) { return std::string(); },
    .weakness =
        "layout=shedlock: a JVM whose clock is ahead, or that unlocks without looking whose the lock "
        "is, can take over a lease",
};

}  // namespace holdfast::mariadb
