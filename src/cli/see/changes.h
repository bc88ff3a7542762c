// SPDX-License-Identifier: Apache-2.0
// changes.h - what happened to keys between two looks at a store.
//
//   seen before     | seen now                     | it was
//   ----------------+------------------------------+------------------------------------------------------
//   not held        | held                         | acquired
//   held            | the same grant, lasts longer | renewed
//   held            | free, no holder remembered   | released
//   held            | free, the holder remembered  | expired
//   held by A       | held by B                    | A released or expired, B acquired
//   any             | the log has a line about it  | taken-over, broken: as the store has written it down
//   N wait          | more wait                    | waiting
//   N wait          | fewer wait                   | left, but for those who were granted the key
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

// One look at a store.
struct Look {
  Instant when{};                  // it was asked
  Moment at{};                     // the same on the wall
  std::vector<LeaseRow> leases{};  // in the order of their keys
  std::vector<LogRow> news{};      // written down since the look before; oldest first.  Read after `leases`
};

enum class Event : std::uint8_t {
  holds,  // when one begins to look
  acquired,
  renewed,
  released,
  expired,  // it ran out
  taken_over,
  broken,
  waiting,  // more than before
  left,     // fewer wait
  note,     // it is another one now
};
const char* to_string(Event event) noexcept;

struct Change {
  Moment at{};  // by the store's clock where it knows, else of the look
  Event event{};
  std::string key{};
  std::string owner{};  // who has it, or who had it
  Token token{};        // that holder's
  std::string by{};     // taken_over: who has it now; broken: who broke it
  Millis remaining{};
  std::uint32_t waiting{};
  std::string detail{};  // the note; of what the store has written down: why
  bool free_since{};     // released, expired: nobody has it at this look either
};

// For people, without time, event and key.
std::string sentence_of(const Change& change);

// The row of `after` was renewed since `before`, as its remaining time shows.
// REQUIRES: is_same_grant(before, after), and `elapsed` lies between the looks.
bool was_renewed(const LeaseRow& before, const LeaseRow& after, Millis elapsed) noexcept;

// Look by look, what is new.
class Chronicle {
 public:
  // What is held at the first look, later what has changed; in the order in which it happened.
  std::vector<Change> tell(Look look);

 private:
  bool began_ = false;
  Look before_;
  std::vector<LogRow> early_;  // written down after the listing of that look was made
};

}  // namespace holdfast::cli
