// SPDX-License-Identifier: Apache-2.0
#include "stores/sqlite/upkeep.h"

#include "stores/sqlite/database.h"
#include "stores/sqlite/sweep.h"

namespace holdfast::sqlite {
namespace {

using namespace std::chrono_literals;

constexpr Millis least_time = 20ms;  // do not begin with less: writing back takes a few milliseconds
constexpr Micros patience = 500us;   // for the write lock, as long as there is no hurry

// Whoever opens the file alone reads the whole log, so a connection that may be gone in a moment, a
// command's, keeps it short.  One that goes on writes back less often, because all others wait while it does.
constexpr int short_log = 100, long_log = 1000;
constexpr int goes_on = 100;  // after so many commits
constexpr int hurry = 4;      // times as long: wait for the lock as long as the caller can

constexpr std::size_t dead_per_turn = 16;

}  // namespace

bool Upkeep::grown_by(int pages) noexcept {
  if (connection_.wal_pages() < pages_done_) pages_done_ = 0;  // the log has started anew
  return connection_.wal_pages() >= pages_done_ + pages;
}

void Upkeep::tend() {
  const int enough = connection_.commits() < goes_on ? short_log : long_log;
  if (!grown_by(enough)) return;
  const Instant until = connection_.until();
  const Instant now = BootClock::now();
  if (clamped_add(now, least_time) > until) return;
  const Instant latest = until - least_time / 2;
  try {
    checkpoint(grown_by(enough * hurry) ? latest : std::min(latest, now + patience));
    pages_done_ = connection_.wal_pages();
    connection_.set_until(std::min(latest, BootClock::now() + patience));
    sweep();
    forget_the_dead();
  } catch (const Failure&) {
    // Somebody else writes: the next call finds the log as long, and tries again.
  }
  connection_.set_until(until);
}

void Upkeep::checkpoint(Instant lock_until) {
  if (!second_) {
    auto second =
        std::make_unique<Connection>(connection_.path(), connection_.tables(), connection_.machine());
    open_again(*second);
    second_ = std::move(second);
  }
  second_->set_until(lock_until);
  const Transaction nobody_writes(*second_);
  const int code =
      sqlite3_wal_checkpoint_v2(connection_.raw(), nullptr, SQLITE_CHECKPOINT_PASSIVE, nullptr, nullptr);
  if (code != SQLITE_OK) connection_.fail(During::work);
}

void Upkeep::sweep() {
  Transaction transaction(connection_);
  Sweep(connection_).next_part();
  transaction.commit();
}

// A FIFO whose client is dead says so to all who wait for that client's leases, so it stays until no row
// speaks of it.  The dead take no new ones, so looking needs no lock.
void Upkeep::forget_the_dead() {
  for (const std::string& client : presence_.some_dead(dead_per_turn, jitter_.next())) {
    Cursor cursor = connection_.run(Sql::mentions, std::string_view(client));
    if (cursor.next() && cursor.number(0) == 0) presence_.forget(client);
  }
}

}  // namespace holdfast::sqlite
