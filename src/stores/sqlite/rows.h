// SPDX-License-Identifier: Apache-2.0
// rows.h - what the tables say about one key, and writing it down.  Decides nothing.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/rule.h"
#include "holdfast/spi/store.h"
#include "stores/sqlite/connection.h"

namespace holdfast::sqlite {

// A moment on the store's clock; none is the end of time, as in the table.
using End = std::optional<Micros>;

// We never come further, and none is negative: the next one could not rise.
bool is_token(std::int64_t number) noexcept;

// One row of the lock table.  No row is a key that is free and has given out no token.
struct Row {
  std::string owner = {};  // empty: free
  End end = {};            // of the holder's lease
  Token token = {};
  std::string client = {};  // whose death ends the lease; empty: nobody's

  bool live(Micros now) const noexcept { return !owner.empty() && core::lease_is_live(end, now); }
  // For core/rule.h.
  core::Record record(std::vector<core::Place> queue = {}) const {
    return {.owner = owner, .token = token, .end = end, .queue = std::move(queue)};
  }
};
// Reads the columns locked_by, locked_until, sequence, facts.client that begin there.
Row read_row(const Cursor& cursor, int column);

// REQUIRES for all that write: inside a Transaction.
class Rows {
 public:
  explicit Rows(Connection& connection) : connection_(connection) {}

  Row look(Key key);
  // Where the token of a key that is not there starts: it may have been, and was purged.
  Token purged_token();
  // Places that have not run out, first come first; who would hold the key is left out.
  std::vector<core::Place> queue(Key key);

  void grant(Key key, OwnerView owner, End end, Token token);
  void restart(Key key, End end);
  void free(Key key);

  struct Facts {
    std::string_view client = {};
    bool detached = false;
    std::string_view note = {};
  };
  void note_facts(Key key, Token token, const Facts& facts);
  void note_client(Key key, Token token, std::string_view client);

  void log(Key key, const LogRow& entry);

  // Those that have run out.
  void drop_places(Key key);
  // Takes the last place, or refreshes ours where it is.
  void keep_place(Key key, std::string_view client, OwnerView waiter, Micros until);
  void leave(Key key, std::string_view client);

 private:
  Connection& connection_;
};

}  // namespace holdfast::sqlite
