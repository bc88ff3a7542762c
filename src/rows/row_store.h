// SPDX-License-Identifier: Apache-2.0
// row_store.h - how a batch is sent to a database with tables, in which any transaction may have locked a
// row.
//
// A batch of one request is sent as one statement.  If that does not settle it, and for larger batches, the
// requests are sent in key batches: keys in bytewise order, each once.  If a row of a key batch is locked,
// its requests are sent again one by one; those whose row is locked get a reply from the last committed row,
// or fail.  If the database rejects a request, it has undone the whole key batch, which is sent again in
// halves until that request is alone.
#pragma once
#include <optional>
#include <set>
#include <string>

#include "core/batching.h"
#include "core/row.h"
#include "holdfast/spi/store.h"

namespace holdfast::rows {

// The database rejected the content of a request, and has undone the whole statement.
class NotTaken final : public Failure {
 public:
  using Failure::Failure;
};

class RowStoreConnection : public StoreConnection {
 public:
  Status apply(std::span<const Request> requests, std::span<Reply> replies, Instant until) final;

 protected:
  // The batch that is being applied.
  struct Call {
    std::span<const Request> requests;
    std::span<Reply> replies;
    Instant until;
    bool applied = false;  // some requests may have taken effect
    std::set<std::string_view> stuck =
        {};  // keys whose rows are locked: later requests for them must wait too
  };
  enum class Settled : std::uint8_t { yes, not_yet, in_the_way };
  // What to do about rows that another transaction has locked.
  enum class Locked : std::uint8_t { wait, skip };

  // The longest time that a single request waits for a locked row.  Below a second, so that the caller gets a
  // reply in time.
  static constexpr Millis longest_patience{900};

  // All of these throw Failure.

  virtual void connect(Instant until) = 0;
  // The server has closed the connection meanwhile, so nothing can be sent on it.
  virtual bool ended() const = 0;
  // Why the tables cannot hold the request, if that is known before it is sent.  A text is never cut to fit,
  // because two keys would become one.
  virtual std::optional<Error> misfit(const Request& request) const = 0;
  // One statement for one request.
  virtual Settled settle(Call& call, std::size_t i, Millis patience) = 0;
  // Sends each request once.  Requests without a final reply stay in `key_batch`; if it throws NotTaken, all
  // of them stay.
  virtual Settled send_key_batch(Call& call, core::KeyBatch& key_batch, Millis patience, Locked locked) = 0;
  // Another transaction has locked the row of an acquire or a renewal: reads the last committed row, and
  // calls answer_as_seen() with it.
  virtual void answer_locked(Call& call, std::size_t i) = 0;
  virtual std::vector<core::KeyBatch> key_batches_of(std::span<const Request> requests) const {
    return core::key_batches(requests);
  }
  virtual bool settles_alone() const { return true; }
  virtual std::string where() const = 0;

  // Called before a request is sent: replaces a connection that was closed while it was idle.
  void ready(Instant until);
  // Answers from `row`, which the other transaction may be about to change.  `all`: the row alone decides.
  void answer_as_seen(Call& call, std::size_t i, const core::Row& row, bool all = true) const;

  static void require_time(Instant until);
  // The error for a `text` that is longer than the `longest` letters or bytes (`unit`) of a column.
  static Error does_not_fit(std::string_view text, std::size_t longest, const char* unit, const char* column,
                            const std::string& table);

 private:
  void meets_lock(Call& call, std::size_t i);
  void give_up(Call& call, std::size_t i) const;
  void apply_alone(Call& call, std::size_t i);
  void apply_key_batch(Call& call, core::KeyBatch& key_batch);
  bool send_together(Call& call, core::KeyBatch& key_batch);
  void send_one_by_one(Call& call, const core::KeyBatch& key_batch);
  void send_halves(Call& call, const core::KeyBatch& key_batch, const Error& why);
};

bool is_theirs(const core::Row& row, const Request& request) noexcept;

// The number of characters of UTF-8 text.
std::size_t letters_in(std::string_view text) noexcept;

}  // namespace holdfast::rows
