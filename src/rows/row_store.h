// SPDX-License-Identifier: Apache-2.0
// row_store.h - how a batch goes to a database with tables, where anybody may have a row locked.
//
// A batch of one is asked in one statement.  What that does not settle, and every larger batch, travels in
// key batches: keys in bytewise order, each once.  A key batch that meets a locked row is sent again one by
// one, and only those that are locked are answered by what everybody else sees, or fail.  A key batch of
// which the database does not take one was undone by it, and is sent again in halves until that one is alone.
#pragma once
#include <optional>
#include <set>
#include <string>

#include "core/batching.h"
#include "core/row.h"
#include "holdfast/spi/store.h"

namespace holdfast::rows {

// The database does not take what a request holds, and has undone the statement that held it.
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
    bool applied = false;                   // a part of it may have taken effect
    std::set<std::string_view> stuck = {};  // keys whose rows are locked: what follows there has to wait too
  };
  enum class Settled : std::uint8_t { yes, not_yet, in_the_way };
  // What to do about rows that somebody has locked.
  enum class Locked : std::uint8_t { wait, skip };

  // How long a locked row is waited for, at most, by a request alone: below a second, so that whoever calls
  // can be answered.
  static constexpr Millis longest_patience{900};

  // All of these throw Failure.

  virtual void connect(Instant until) = 0;
  // The other end has closed the connection meanwhile: what is sent now arrives nowhere.
  virtual bool ended() const = 0;
  // Why the tables do not take it, as far as that is known before it is sent.  Never cut: two keys would
  // become one.
  virtual std::optional<Error> misfit(const Request& request) const = 0;
  // One statement for one request.
  virtual Settled settle(Call& call, std::size_t i, Millis patience) = 0;
  // Each request of it once.  Those without a final answer stay in `key_batch`; so do all of them where it
  // throws NotTaken.
  virtual Settled send_key_batch(Call& call, core::KeyBatch& key_batch, Millis patience, Locked locked) = 0;
  // Somebody's transaction has the row of an acquire or a renewal locked: answer_as_seen() what everybody
  // else sees of it.
  virtual void answer_locked(Call& call, std::size_t i) = 0;
  virtual std::vector<core::KeyBatch> key_batches_of(std::span<const Request> requests) const {
    return core::key_batches(requests);
  }
  virtual bool settles_alone() const { return true; }
  virtual std::string where() const = 0;

  // Before anything of a call is sent: a connection that was closed while it was idle is replaced.
  void ready(Instant until);
  // By `row`, which may be older than what the transaction will leave; `all`: nothing else has a say.
  void answer_as_seen(Call& call, std::size_t i, const core::Row& row, bool all = true) const;

  static void require_time(Instant until);
  // `text` is longer than the `longest` letters or bytes (`unit`) that a column takes.
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

// Of UTF-8.
std::size_t letters_in(std::string_view text) noexcept;

}  // namespace holdfast::rows
