// SPDX-License-Identifier: Apache-2.0
// store.h - the operations that a database must offer to keep leases.  For authors of stores; to use leases,
// read client.h.
//
//   Store            the database: it opens as many connections as a client needs
//   StoreConnection  one connection: applies batches of lease requests, and lists rows
//   StoreListener    tells a client that a key may have become free
//   StoreAdmin       creates the tables, and deletes what nobody needs any more
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "holdfast/clock.h"
#include "holdfast/export.h"
#include "holdfast/result.h"
#include "holdfast/rows.h"

namespace holdfast {

// The store's own clock, in microseconds.  Opaque: only differences mean something.
enum class StoreTime : std::int64_t {};

enum class Verb : std::uint8_t {
  acquire,
  renew,
  release,
  evict,  // by an operator: the holder of `token` loses the lease; `owner` says who did it, `note` why
};

struct Request {
  Verb verb;
  Key key;
  OwnerView owner;
  Token token{};   // renew, release: that grant only (zero: any grant of the owner); evict: required
  Millis ttl{};    // acquire, renew
  Millis place{};  // acquire: if busy, keep this client's place in the queue for this time; release: leave
                   // the queue (with an empty owner: do nothing else)
  Millis longest_place{};   // acquire: ignore places of other clients that end later than this from now, see
                            // below; zero: ignore none
  bool extend = false;      // renew: add ttl to what the lease has left, instead of restarting it
  bool detached = false;    // acquire: outlives this process
  std::string_view note{};  // acquire: for people; evict: the reason
};

enum class Verdict : std::uint8_t { granted, released, busy, lost };

struct Reply {
  Verdict verdict{};
  Token token{};          // granted: of the grant.  Otherwise: the last token of this key, or zero
  std::string owner{};    // the owner in the row; it holds the key only if `remaining` is not zero
  Millis remaining{};     // of the lease that is held now.  Busy without a holder: of the queue's first place
  std::uint32_t ahead{};  // busy: live places before ours
  StoreTime now{};        // the store's clock when it answered; zero: unknown, for example if there is no row
  std::optional<Error> error{};  // only this request failed; then the other fields mean nothing
};

// Notifies a client that a key may have become free.  This is only a hint: it may come too often, and a
// waiter also checks by itself.  Used by one thread, which may be another one than that of the connection.
class HOLDFAST_API StoreListener {
 public:
  virtual ~StoreListener() = default;
  // Readable when there are notifications.
  virtual int fd() const noexcept = 0;
  // Takes the notifications and returns their keys.  Empty: any key may have become free.
  virtual Result<std::vector<std::string>> ready() = 0;
};

// A StoreConnection applies batches of lease requests in one round trip.
//
//   the row is                | acquire(h)                      | renew(h)                | release(h)
//   --------------------------+---------------------------------+-------------------------+------------------
//   absent, free or expired   | granted, new token (busy for    | lost                    | lost (harmless)
//                             | all but the first live waiter)  |                         |
//   live, held by h           | granted, same token,            | granted, same token,    | released;
//                             | max(stored, now + ttl)          | max(stored, now + ttl)  | the row stays
//   live, held by another     | busy: who, token, remaining     | lost                    | lost
//
// evict: released if the row is live and its token is the one given, else lost.
//
// Each request is atomic on its own; a batch is not a transaction.  Requests for one key take effect in
// the order given.  Only the store's clock decides expiry.  A new token is
// max(last + 1, the store's wall clock in microseconds), written in the same step as the grant.  For a key
// that the store does not know, `last` is the largest token of all that it has purged.
//
// Every verb is idempotent for its owner, so a request whose answer was lost is sent again.  No verb shortens
// a lease: an acquire that was delayed must not undo a later renewal.  (Only `extend` is not idempotent: sent
// twice, it adds twice.)
//
// A place in a queue belongs to (client, key); all threads of the client share it.  A new grant to the client
// removes its place.  A release notifies the first live waiter only.
//
// The end of a place is stored as a time of the store's clock.  If that clock is set back, the place of a
// waiter that has died would block the queue for as long as the clock went back.  So an acquire says how long
// a place lasts at most (`longest_place`): a place of another client that ends later is ignored when the
// store decides who is first.  The place itself stays until such an acquire is granted the key, so that a
// live waiter keeps its position with its next refresh.  Only the order of waiters depends on this, never who
// holds the key.
//
// A StoreConnection is used by one thread at a time and needs no mutex.  `Batched` makes one usable by many
// threads.
class HOLDFAST_API StoreConnection {
 public:
  virtual ~StoreConnection() = default;

  // Fills replies[i] with the answer to requests[i], and returns by `until` or soon after.  `until` binds the
  // store too: an acquire that reaches the store later grants nothing.  On failure the replies mean nothing,
  // and the error says whether the batch may have been applied (in_doubt) or was not (any other error).
  //
  // Requests fail independently: if the store cannot accept one (for example because its key does not fit a
  // column), that reply has an `error`, and the other requests of the batch are answered as if it were not
  // there.  If it is the only request, apply() fails with that error.
  //
  // REQUIRES: replies.size() == requests.size().
  virtual Status apply(std::span<const Request> requests, std::span<Reply> replies, Instant until) = 0;

  // Rows for people.
  virtual Result<Page> list(const Query& query, Instant until) = 0;

  virtual Result<Traits> examine(Instant until) = 0;

  // This client's listener, or null where the database cannot notify: then waiters poll.
  virtual std::unique_ptr<StoreListener> listener() { return nullptr; }
};

// Administration of a store.  It is separate from StoreConnection because it must work before the tables
// exist.  The first call connects; used by one thread at a time.
class HOLDFAST_API StoreAdmin {
 public:
  virtual ~StoreAdmin() = default;

  // The statements that create what is missing, in the order in which init() would run them; empty: nothing
  // is missing.  Changes nothing.
  virtual Result<std::vector<std::string>> plan(Instant until) = 0;
  // Creates what is missing, and returns the statements that it ran.  Any number of processes may call it at
  // once.
  virtual Result<std::vector<std::string>> init(Instant until) = 0;

  // Tokens rise across a purge.  A key whose last token is ahead of the store's wall clock stays.  Other
  // clients can write meanwhile.  If the purge is not complete by `until`, it fails with unavailable; what it
  // has deleted stays deleted.
  virtual Result<Purged> purge(const Purge& what, Instant until) = 0;

  // Looks for everything that can break a lease in this store.  It also works where connect() refuses
  // clients: each reason for a refusal is a finding.  Changes nothing.  The default implementation finds
  // nothing.
  virtual Result<Diagnosis> diagnose(Instant until);
};

class JobEngine;                       // job_engine.h
enum class JobKeyForm : std::uint8_t;  // job_rows.h

// A database that keeps leases.  Any thread may call any function.
class HOLDFAST_API Store {
 public:
  virtual ~Store() = default;

  // Opens a new connection, ready for use.
  virtual Result<std::unique_ptr<StoreConnection>> connect(Instant until) = 0;

  virtual std::unique_ptr<StoreAdmin> admin() = 0;

  // Opens a new connection for jobs, whose locks are leases of this table.  Errc::refused if this store keeps
  // no jobs, Errc::unprepared if init() would create what they need.
  virtual Result<std::unique_ptr<JobEngine>> jobs(Instant until);

  // The form of the keys of jobs whose locks are in this store: `exact`, unless other programs create such
  // keys too.
  virtual JobKeyForm job_key_form() const noexcept;

  // The same database, another table or collection.
  virtual Result<std::shared_ptr<Store>> in(std::string_view table) = 0;

  // For people; contains no secret.
  virtual std::string name() const = 0;

  // The identifier of this client in the store, 16 hex digits: its places and its notifications have this
  // name.
  virtual const std::string& client() const noexcept = 0;

  // A new descriptor.  While it is open in any process, this client counts as alive.  -1 if the store needs
  // none, and before the first connect.  The caller closes it.
  virtual int proof_of_life() const { return -1; }

  // Called at most once, in a child after fork(); no running thread holds a lock then.  Closes the child's
  // copy of the descriptor that proves the parent alive, and nothing else.
  virtual void abandon() noexcept {}
};

}  // namespace holdfast
