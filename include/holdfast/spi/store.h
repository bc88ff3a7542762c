// SPDX-License-Identifier: Apache-2.0
// store.h - the interface of a database that keeps leases.  Authors of stores need it; programs that use
// leases need client.h.
//
//   Store            the database: it opens as many connections as a client needs
//   StoreConnection  one connection: applies batches of lease requests, lists leases, places and the log
//   StoreListener    notifies a client that a key may have become free
//   StoreAdmin       creates the tables, and deletes rows that are no longer needed
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
  evict,  // by an operator: the holder of `token` loses the lease.  `owner` is the operator, `note` the
          // reason
};

struct Request {
  Verb verb;
  Key key;
  OwnerView owner;
  Token token{};   // renew, release: that grant only (zero: any grant of the owner); evict: required
  Millis ttl{};    // acquire, renew; Millis(never): without end
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
  Token token{};        // granted: of the grant.  Else: the last token of this key, or none
  std::string owner{};  // the owner in the row, who holds the key only if `remaining` is not zero
  Millis remaining{};   // of the current lease; Millis(never): it has no end.  Busy without a holder: of the
                        // first place in the queue
  std::uint32_t ahead{};  // busy: live places before ours
  StoreTime now{};        // the store's clock when it answered; zero: unknown, for example if there is no row
  std::optional<Error> error{};  // only this request failed; then the other fields mean nothing
};

// Notifies that a key may have become free.  A notification is a hint: there may be too many, and some may be
// lost, so waiters also poll.  Used by one thread, which may be another than that of the StoreConnection.
class HOLDFAST_API StoreListener {
 public:
  virtual ~StoreListener() = default;
  // Readable when there is a notification.
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
// A lease is live up to and including its end, on the store's clock.  `remaining` is in whole milliseconds,
// rounded down, and at least one while the lease is live.  A lease that is extended again and again ends at
// the latest 2^57 microseconds after the beginning of the store's clock.
//
// Each request is atomic on its own; a batch is not a transaction.  Requests for one key take effect in
// the order given.  Only the store's clock decides expiry.  A new token is
// max(last + 1, the store's wall clock in microseconds), written in the same step as the grant.  For a key
// that the store does not know, `last` is the largest token of all that it has purged.
//
// Every verb is idempotent for its owner, so a request without a reply is sent again.  No verb shortens a
// lease: an acquire that was delayed on its way must not undo a later renewal.
// (`extend` alone is not idempotent: sent twice it adds twice.)
//
// A place in a queue belongs to (client, key), and is shared by all owners of that client.  A new grant to
// the client removes its place.  A release notifies the first live waiter only.
//
// The end of a place is kept as a moment of the store's clock.  If that clock is set back, the place of a
// waiter that has died would block the queue for as long as the clock went back.  So an acquire contains the
// longest life of a place (`longest_place`): a place of another client that ends later is ignored in the
// decision who is first.  It is not deleted before the key is granted by such an acquire, so a live waiter
// keeps its order with its next refresh.  Only the order of waiters depends on this, never who holds the key.
//
// A StoreConnection is used by one thread at a time and need not lock.  `Batched` shares one among threads.
class HOLDFAST_API StoreConnection {
 public:
  virtual ~StoreConnection() = default;

  // Fills replies[i] with the answer to requests[i], returning by `until` or soon after.  `until` binds
  // the store too: an acquire that reaches it later grants nothing.  On failure the replies mean nothing,
  // and the error's code shows whether the batch may have been applied (in_doubt) or not (any other code).
  //
  // If the store cannot apply one request (for example because the key does not fit the column), only the
  // reply to that request gets an `error`; the others of the batch are applied as usual.  If it is the only
  // request, apply() returns that error.
  //
  // REQUIRES: replies.size() == requests.size().
  virtual Status apply(std::span<const Request> requests, std::span<Reply> replies, Instant until) = 0;

  // Leases, places or the log, for people.  A lease without end has Millis(never) remaining; clients report
  // less (LeaseRow).
  virtual Result<Page> list(const Query& query, Instant until) = 0;

  virtual Result<Traits> examine(Instant until) = 0;

  // This client's listener, or null where the database cannot notify: then waiters poll.  Returns by `until`
  // or soon after.  A listener that could not connect by then tries again by itself, and waiters poll
  // meanwhile; after an error the client asks for a listener again.
  virtual Result<std::unique_ptr<StoreListener>> listener([[maybe_unused]] Instant until) {
    return std::unique_ptr<StoreListener>();
  }
};

// Administration of a store.  Apart from StoreConnection, because it must work before there are tables.  Each
// call connects if necessary.  Used by one thread at a time.
class HOLDFAST_API StoreAdmin {
 public:
  virtual ~StoreAdmin() = default;

  // The statements that init() would run, in their order; empty if nothing is missing.  Changes nothing.
  // If they have to look at every key, plan() and init() go on after `until` as long as the server answers.
  virtual Result<std::vector<std::string>> plan(Instant until) = 0;
  // Creates what is missing, and returns the statements it ran.  Any number of processes may call it at once.
  virtual Result<std::vector<std::string>> init(Instant until) = 0;
  // The statements by which Holdfast decides about leases and jobs in the store, with the names of its
  // tables, for people who want to read or EXPLAIN them; empty if there are none.  Does not connect.
  virtual std::string statements() const = 0;

  // Tokens still rise after a purge.  A key whose last token is ahead of the store's wall clock is not
  // deleted.  Other clients can write meanwhile.  Errc::unavailable if it does not finish by `until`; what
  // was deleted stays deleted.
  virtual Result<Purged> purge(const Purge& what, Instant until) = 0;

  // Finds everything that can break leases in this store, also the reasons for which connect() refuses it.
  // Changes nothing.  By default there are no findings.
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

  // A new connection for jobs, whose locks are leases of this table.  Errc::refused if the store cannot keep
  // jobs, Errc::unprepared if init() would create the missing tables.
  virtual Result<std::unique_ptr<JobEngine>> jobs(Instant until);

  // The form of the keys of jobs whose locks are here: exact, except where other programs make such keys too.
  virtual JobKeyForm job_key_form() const noexcept;

  // The same database, another table or collection.
  virtual Result<std::shared_ptr<Store>> in(std::string_view table) = 0;

  // For people; contains no secret.
  virtual std::string name() const = 0;

  // The identifier of this client in the store, 16 hex digits: its places and its notifications have this
  // name.
  virtual const std::string& client() const noexcept = 0;

  // A new descriptor that proves this client alive while it is open in any process; -1 if the store needs
  // none, and before the first connect.  The caller closes it.
  virtual int proof_of_life() const { return -1; }

  // Called at most once, in a child after fork().  Closes the child's copy of the descriptor that proves the
  // parent alive, and nothing else.  It must not take a lock: a thread of the parent may have held it.
  virtual void abandon() noexcept {}
};

}  // namespace holdfast
