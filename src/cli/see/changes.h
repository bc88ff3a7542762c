// SPDX-License-Identifier: Apache-2.0
// changes.h - what happened to keys between two snapshots of a store.
//
//   before          | now                          | event
//   ----------------+------------------------------+------------------------------------------------------
//   not held        | held                         | acquired
//   held            | the same grant, lasts longer | renewed
//   held            | free, no holder remembered   | released
//   held            | free, the holder remembered  | expired
//   held by A       | held by B                    | A released or expired, B acquired
//   any             | the log has a row about it   | taken-over, broken: as the store recorded it
//   N wait          | more wait                    | waiting
//   N wait          | fewer wait                   | left, except those who were granted the key
//   the same grant  | another note                 | note
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "holdfast/admin.h"

namespace holdfast::cli {

bool is_held(const LeaseRow& row) noexcept;
// The same holder's, and granted at the same time.
bool is_same_grant(const LeaseRow& a, const LeaseRow& b) noexcept;

// The keys of a store at one moment.
struct Snapshot {
  Instant when{};                  // the store was asked
  Moment at{};                     // the same on the wall clock
  std::vector<LeaseRow> leases{};  // in the order of their keys
  std::vector<LogRow> new_log{};   // written since the snapshot before, oldest first.  Read after `leases`
};

enum class Event : std::uint8_t {
  holds,  // in the first snapshot
  acquired,
  renewed,
  released,
  expired,
  taken_over,
  broken,
  waiting,  // more wait than before
  left,     // fewer wait than before
  note,     // the note was changed
};
const char* to_string(Event event) noexcept;

struct Change {
  Moment at{};  // by the store's clock if the store recorded it, otherwise the time of the snapshot
  Event event{};
  std::string key{};
  std::string owner{};  // who holds it, or held it
  Token token{};        // that holder's
  std::string by{};     // taken_over: the new holder; broken: who broke it
  Millis remaining{};
  std::uint32_t waiting{};
  std::string detail{};  // the note; of taken_over and broken: the reason
  bool free_since{};     // released, expired: nobody holds the key in this snapshot either
};

// For people, without time, event and key.
std::string sentence_of(const Change& change);

// The lease in `after` was renewed since `before`, as its remaining time shows.
// REQUIRES: is_same_grant(before, after), and `elapsed` lies between the snapshots.
bool was_renewed(const LeaseRow& before, const LeaseRow& after, Millis elapsed) noexcept;

// Compares each snapshot with the one before it.
class ChangeTracker {
 public:
  // The held keys of the first snapshot; later the changes, in the order in which they happened.
  std::vector<Change> update(Snapshot snapshot);

 private:
  bool began_ = false;
  Snapshot before_;
  std::vector<LogRow> early_;  // log rows that were written after the listing of `before_` was made
};

}  // namespace holdfast::cli
