// SPDX-License-Identifier: Apache-2.0
// lease.h - a key that is ours until a moment.
#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>

#include "holdfast/clock.h"
#include "holdfast/export.h"
#include "holdfast/options.h"
#include "holdfast/result.h"
#include "holdfast/rows.h"

namespace holdfast {

struct LeaseState;  // one lease as the client's threads see it
class ClientState;  // what a client and its leases share

// What a release found.
enum class Released : std::uint8_t {
  released,          // it was held, and now is not
  already_released,  // nobody holds it: it was released before
  broken,            // nobody holds it: an operator took it away
  expired,           // it had run out; nobody else was granted the key since
  stolen,            // somebody else was granted the key since
  never_held,        // the store knows nothing of it: that holder never had it, or it was purged since
};
HOLDFAST_API const char* to_string(Released) noexcept;

struct Lost {
  Loss reason = Loss::none;
  std::string detail;  // for people: who took or broke it, if known
};

// A lease we hold.  Released when destroyed; if the release does not get through, the store forgets the
// lease when its ttl runs out.
//
// **Holding a lease is a belief with an end.**  A process can be paused between looking and writing, and
// the key may be somebody else's when it wakes.  Where that matters, hand token() to whatever the lease
// protects and let it refuse a smaller one.
//
// Any thread may call any const member; one thread at a time may renew, release, move or destroy.  A
// lease may outlive the Client it came from.  In a child after fork() it is lost, and its destructor does
// nothing.
class HOLDFAST_API Lease {
 public:
  Lease() noexcept = default;  // holds nothing
  Lease(Lease&&) noexcept;
  Lease& operator=(Lease&&) noexcept;
  ~Lease();

  // A comparison of our own clock with the deadline: right whatever the network does, no I/O.
  bool held() const noexcept;

  // We believe until then.  Moves forward with each renewal; the end of time for `ttl = never`.
  Instant deadline() const noexcept;
  // Until the deadline; zero when lost or released.  At most a hundred years, also of `ttl = never`, so that
  // it can be added to any clock's now().
  Millis remaining() const noexcept;

  // Valid until this object is assigned to, moved from or gone.
  std::string_view key() const noexcept;
  std::string_view owner() const noexcept;
  // Pass it to whatever the lease protects.
  Token token() const noexcept;
  // How many acquires it took, counted from 1.
  int attempts() const noexcept;

  // Stop is requested when the lease is lost, before held() turns false, even while every connection hangs.
  // It is not requested by a release.  std::stop_callbacks on it run on the thread that finds the loss: one
  // that watches all leases, one that renews them, or yours in renew().  They must be short and must not
  // throw. (Only where the machine stops the watching thread just before the deadline does held() turn false
  // first.)
  std::stop_token stop_token() const;

  // Throws LeaseLost if the lease is not ours any more (or was released).
  void check() const;

  // Why it was lost; Loss::none while it is held, and after a release that found it held.
  Lost lost() const;

  // Functions to run on a thread of their own, never under a lock of ours; they must not throw: when two
  // thirds of the lease have passed without a confirmed renewal (with a later `renew_every`: half of what it
  // leaves); when it is lost; when it was renewed (with
  // the new deadline).  One for jeopardy or loss that is set after the event runs at once; one for renewals
  // hears of the next.  Each replaces the one set before.  Throws std::system_error if no thread can be had.
  void on_jeopardy(std::function<void()>);
  void on_lost(std::function<void(const Lost&)>);
  void on_renewed(std::function<void(Instant)>);

  // Renews now.  Without a ttl: the one it was acquired with; with one, that is its ttl from now on.
  void renew(std::optional<Ttl> ttl = {}) { try_renew(ttl).value(); }
  Status try_renew(std::optional<Ttl> ttl = {});

  // Adds to what the store has stored.  It is renewed as often as before, to hear in time if it is broken.
  void extend_by(Millis more) { try_extend_by(more).value(); }
  Status try_extend_by(Millis more);

  // Not held from the moment this starts, whatever the answer.
  Released release() { return try_release().value(); }
  Result<Released> try_release();

 private:
  friend class Client;
  friend struct ClientAccess;
  Lease(std::shared_ptr<LeaseState> state, std::shared_ptr<ClientState> client) noexcept;
  Status renew_by(Millis ttl, bool extend);
  void go_on_from(LeaseState& earlier);
  void let_go() noexcept;

  std::shared_ptr<LeaseState> state_;
  std::shared_ptr<ClientState> client_;
};

}  // namespace holdfast
