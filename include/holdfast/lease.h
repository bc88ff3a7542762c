// SPDX-License-Identifier: Apache-2.0
// lease.h - a lease: this process holds a key until a deadline.
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

// What the store knew about a lease when it was released.
enum class Released : std::uint8_t {
  released,          // it was held, and now is not
  already_released,  // nobody holds it: it was released before
  broken,            // nobody holds it: an operator took it away
  expired,           // it had run out; nobody else was granted the key since
  stolen,            // somebody else was granted the key since
  never_held,        // the store does not know it: that owner never had it, or it was purged since
};
HOLDFAST_API const char* to_string(Released) noexcept;

struct Lost {
  Loss reason = Loss::none;
  std::string detail;  // for people: who took or broke it, if known
};

// A lease that this process holds.  The destructor and an assignment release it, and wait for the store no
// longer than a second or the lease's deadline.  If the release cannot be sent, the lease ends when its ttl
// runs out.
//
// If one owner name acquires a key twice, two Lease objects hold one grant.  The last of those that came from
// one client releases it.  release() of any of them releases it at once: the others are lost, and their stop
// is requested first.  Assigning one to the other keeps the grant, with the stop tokens of both, and with the
// functions of the earlier one where the other has none.  The longest ttl that was asked for holds until
// then.
//
// **A process can be paused between its check of held() and its write.**  When it wakes, somebody else may
// hold the key.  Where that matters, pass token() to the resource that the lease protects, and let it refuse
// a smaller token.
//
// Any thread may call any const member.  The others (on_..., renew, release, move, destroy) are for one
// thread at a time.  A lease may outlive the Client it came from.  In a child after fork() it is lost, and
// its destructor does nothing.
class HOLDFAST_API Lease {
 public:
  // Holds nothing: held() is false, the stop is requested, check() throws.
  Lease() noexcept = default;
  Lease(Lease&&) noexcept;
  Lease& operator=(Lease&&) noexcept;
  ~Lease();

  // Compares our own clock with the deadline.  It sends nothing, so it is right whatever the network does.
  bool held() const noexcept;

  // held() is true until then.  Each renewal moves it forward.  Instant::max() for `ttl = never`.
  Instant deadline() const noexcept;
  // Until the deadline; zero when lost or released.  At most a hundred years, also of `ttl = never`, so that
  // it can be added to any clock's now().
  Millis remaining() const noexcept;

  // Valid until this object is assigned to, moved from or destroyed.
  std::string_view key() const noexcept;
  std::string_view owner() const noexcept;
  // Pass it to whatever the lease protects.
  Token token() const noexcept;
  // How many acquires were sent for it: 1 or more.
  int attempts() const noexcept;

  // Stop is requested when the lease is lost, before held() turns false, even while every connection hangs.
  // It is not requested by a release.  std::stop_callbacks on it run on a thread that watches all
  // leases: they must be short and must not throw.  (held() turns false first only where the machine stops
  // that thread just before the deadline.)
  std::stop_token stop_token() const;

  // Throws LeaseLost if the lease is lost or released.
  void check() const;

  // Why the lease was lost.  Loss::none until its stop is requested, and after a release that found it held.
  Lost lost() const;

  // Functions that run on a thread of their own, never under a lock of the client; they must not throw.
  //   on_jeopardy  two thirds of the lease have passed without a confirmed renewal
  //                (if `renew_every` is later: half of the time between it and the deadline has passed)
  //   on_lost      the lease is lost
  //   on_renewed   the lease was renewed; gets the new deadline
  // If the jeopardy or the loss has happened already, the function runs at once.  Each call replaces the
  // function that was set before.  Throws std::system_error if no thread can be started.
  // A function can still run after the release or the destructor of the lease.  The client's destructor waits
  // for it, up to a second: what it uses must live longer than the client.
  void on_jeopardy(std::function<void()>);
  void on_lost(std::function<void(const Lost&)>);
  void on_renewed(std::function<void(Instant)>);

  // Renews now, with the ttl of the acquire, or with `ttl`, which is its ttl from then on.
  void renew(std::optional<Ttl> ttl = {}) { try_renew(ttl).value(); }
  Status try_renew(std::optional<Ttl> ttl = {});

  // Adds `more` to the expiry in the store.  The lease is renewed as often as before, to notice a break in
  // time.
  void extend_by(Millis more) { try_extend_by(more).value(); }
  Status try_extend_by(Millis more);

  // held() is false as soon as this begins, whatever the store answers.
  Released release() { return try_release().value(); }
  Result<Released> try_release();

 private:
  friend class Client;
  friend struct ClientAccess;
  Lease(std::shared_ptr<LeaseState> state, std::shared_ptr<ClientState> client) noexcept;
  Status renew_by(Millis ttl, bool extend);
  void go_on_from(LeaseState& earlier) noexcept;
  void let_go(const LeaseState* next) noexcept;

  std::shared_ptr<LeaseState> state_;
  std::shared_ptr<ClientState> client_;
};

}  // namespace holdfast
