// SPDX-License-Identifier: Apache-2.0
// store.h - what a database must be able to do to keep leases.  For those who write a store; whoever
// only uses leases needs client.h.
//
//   Store            the database: it opens as many connections as a client needs
//   StoreConnection  one connection: applies batches of lease requests, lists what it keeps
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
  evict,  // an operator's: whoever holds `token` loses it; `owner` says who did it, `note` why
};

struct Request {
  Verb verb;
  Key key;
  OwnerView owner;
  Token token{};   // renew, release: that grant only (none: whichever the holder has); evict: required
  Millis ttl{};    // acquire, renew
  Millis place{};  // acquire: if busy, keep this client's place in the queue so long; release: leave the
                   // queue (with an empty holder: and nothing else)
  Millis longest_place{};   // acquire: a place of another client that ends later than so long from now does
                            // not count, as below; zero: all count
  bool extend = false;      // renew: add ttl to what the lease has left, instead of restarting it
  bool detached = false;    // acquire: outlives this process
  std::string_view note{};  // acquire: for people; evict: the reason
};

enum class Verdict : std::uint8_t { granted, released, busy, lost };

struct Reply {
  Verdict verdict{};
  Token token{};          // granted: of the grant.  Else: the last one this key has given out, or none
  std::string owner{};    // whom the row names; that holder has the key only if `remaining` is not zero
  Millis remaining{};     // of whoever holds the key now.  Busy with no holder: of the queue's first place
  std::uint32_t ahead{};  // busy: live places before ours
  StoreTime now{};  // the store's clock when it answered; zero: it did not tell, as of a lease not there
  std::optional<Error> error{};  // this request failed, by itself; then the rest of the reply means nothing
};

// Tells when a key may have become free.  A hint: it may say so too often, and a waiter never trusts it
// alone.  Used by one thread, which may differ from the store's.
class HOLDFAST_API StoreListener {
 public:
  virtual ~StoreListener() = default;
  // Readable when something rang.
  virtual int fd() const noexcept = 0;
  // Takes what rang: keys.  Empty: anything may have happened.
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
// Every verb is idempotent for its holder, so a request whose answer was lost is simply sent again.  None
// shortens a lease: an acquire that was held up on its way must not take back what a renewal has given.
// (`extend` alone is not idempotent: sent twice it adds twice.)
//
// A place in a queue belongs to (client, key), whoever of that client waits.  A new grant to the client
// takes its place away.  A release notifies the first live waiter only.
//
// The end of a place is kept as a moment of the store's clock.  If that clock is set back, the place of a
// waiter that has died would block the queue for as long as the clock went back.  So an acquire says how long
// a place lasts at most (`longest_place`): a place of another client that ends later does not count when it
// is decided who is first.  It stays, so that a live waiter keeps its order by its next refresh, until the
// key is granted by such an acquire.  Only the order depends on it, never who holds.
//
// A StoreConnection is used by one thread at a time and need not lock.  `Batched` lifts that to any number.
class HOLDFAST_API StoreConnection {
 public:
  virtual ~StoreConnection() = default;

  // Fills replies[i] with the answer to requests[i], returning by `until` or soon after.  `until` binds
  // the store too: an acquire that reaches it later grants nothing.  On failure the replies mean nothing,
  // and the error says whether the batch can have been applied (in_doubt) or cannot (anything else).
  //
  // Each request answers for itself: one that the store cannot take (a key that does not fit a column, say)
  // has that as its reply's `error`, and the others of the batch are answered as if it were not there.  Where
  // it is the only one, apply() fails by it.
  //
  // REQUIRES: replies.size() == requests.size().
  virtual Status apply(std::span<const Request> requests, std::span<Reply> replies, Instant until) = 0;

  // What it keeps, for people.
  virtual Result<Page> list(const Query& query, Instant until) = 0;

  virtual Result<Traits> examine(Instant until) = 0;

  // This client's listener, or null where the database cannot notify: then waiters poll.
  virtual std::unique_ptr<StoreListener> listener() { return nullptr; }
};

// What people do to a store that is no lease operation.  Beside StoreConnection, because it must work where
// no lease can be kept yet.  Connects when it is asked something; used by one thread at a time.
class HOLDFAST_API StoreAdmin {
 public:
  virtual ~StoreAdmin() = default;

  // What is missing to keep leases there, as statements in the order in which init() would run them; none:
  // nothing is missing.  Changes nothing, and makes nothing.
  virtual Result<std::vector<std::string>> plan(Instant until) = 0;
  // Makes it, and says what it was.  Any number of processes may do so at once.
  virtual Result<std::vector<std::string>> init(Instant until) = 0;

  // Tokens rise across it.  A key whose last token is ahead of the store's wall clock stays.  Others can
  // write meanwhile.  If it does not come to the end by `until` it says unavailable; what is gone is gone.
  virtual Result<Purged> purge(const Purge& what, Instant until) = 0;

  // Looks for what can break a lease there, also where no client is let in because of it: whatever connect()
  // would refuse for the sake of safety is a finding.  Changes nothing.  A store that does not look finds
  // nothing.
  virtual Result<Diagnosis> diagnose(Instant until);
};

class JobEngine;                       // job_engine.h
enum class JobKeyForm : std::uint8_t;  // job_rows.h

// Where a client's stores come from.  Any thread may call any of it.
class HOLDFAST_API Store {
 public:
  virtual ~Store() = default;

  // A connection of its own, ready for use.
  virtual Result<std::unique_ptr<StoreConnection>> connect(Instant until) = 0;

  virtual std::unique_ptr<StoreAdmin> admin() = 0;

  // A connection of its own for jobs, whose locks are leases of this table.  Errc::refused where none are
  // kept, unprepared where init() would make what they need.
  virtual Result<std::unique_ptr<JobEngine>> jobs(Instant until);

  // Of the keys of jobs whose locks are here: exact, but where others make them too.
  virtual JobKeyForm job_key_form() const noexcept;

  // The same database, another table or collection.
  virtual Result<std::shared_ptr<Store>> in(std::string_view table) = 0;

  // For people; holds no secret.
  virtual std::string name() const = 0;

  // This client at the store, 16 hex digits: the owner of its places and the address of its notifications.
  virtual const std::string& client() const noexcept = 0;

  // A new descriptor that, while open in any process, proves this client alive; -1 where the store needs
  // none, and before the first connect.  The caller closes it.
  virtual int proof_of_life() const { return -1; }

  // Called at most once, in a child after fork(), with no lock held by anyone who still runs: let go of
  // the copy of what proves the parent alive, and of nothing else.
  virtual void abandon() noexcept {}
};

}  // namespace holdfast
