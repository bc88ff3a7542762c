// SPDX-License-Identifier: Apache-2.0
// keeper.h - keeps all leases of a client alive, and says in time which are not.
#pragma once
#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "base/worker.h"
#include "client/callbacks.h"
#include "client/lease_state.h"
#include "client/telemetry.h"
#include "core/keeping.h"
#include "holdfast/spi/store.h"

namespace holdfast {

// Two threads over one core::Keeping.  The *renewal thread* renews the leases that are due, as many in one
// batch as the store manages well within the time for a call, on a connection of its own, and sends pending
// releases.  The *deadline thread* does no I/O: it tells of jeopardy and loss on time, also while every
// connection hangs.  Both start before the first lease is asked for.  Where the store does not tidy, a third
// thread purges now and then and ends.
//
// The threads own what they use, so a client that is destroyed by a callback of its own does no harm.
class Keeper {
 public:
  // Whether a thread of this process waits for a key and takes over our place in the queue.  Any thread may
  // ask, also after the client has gone.
  using Heir = std::function<bool(std::string_view key)>;

  // `spare` is shared with the client's callers, and used while the keeper's own connection cannot be made.
  Keeper(std::shared_ptr<Store> store, std::shared_ptr<StoreConnection> spare,
         std::shared_ptr<Telemetry> telemetry, Heir heir);
  ~Keeper();

  // From now on, while leases are kept.  Call before the first.
  void purge_every(Millis interval);

  // Starts the threads, if they do not run yet.  Throws NoThread: call it before something is asked for that
  // needs them.
  void get_ready();
  // The same for the thread of the user's functions.
  void get_ready_to_call() { callbacks_->get_ready(); }

  // REQUIRES: get_ready() has returned; so does pending_release().
  void keep(const std::shared_ptr<LeaseState>& lease, core::Belief belief);
  // The lease is being released: nobody renews it, asks its `finished` or tells of its loss any more.
  void drop(const LeaseState& lease);

  // A renewal by hand was granted, or one that asked for `more` than was left.  False: too late.
  bool renewed(LeaseState& lease, Millis ttl, Instant sent, Millis remaining);
  bool extended(LeaseState& lease, Millis more, Instant sent, Millis remaining);
  // The store said so.  Returns when the stop was requested and held() is false, unless it is called by the
  // thread that does that.
  void lose_now(const std::shared_ptr<LeaseState>& lease, Lost lost);
  // The same without waiting for that.
  void lose(const std::shared_ptr<LeaseState>& lease, Lost lost);

  // Something to tell the store later, by the time at which it is told.
  struct PendingRelease {
    Verb verb;
    std::string key, owner;
    Token token;
    Millis place;
    Instant give_up = Instant::max();
    Instant again = Instant::min();  // if the store hears it before then, it is told once more
    bool heard = false;
    int failures = 0;  // in a row
  };
  using PendingReleases = std::multimap<Instant, PendingRelease>;

  // Makes room for a pending release, with the texts of `request`.  Who does so before it asks for a lease
  // can give it back when no memory is left.
  static PendingReleases::node_type room_for(const Request& request);
  // Sends it at that moment, as well as it can be done.
  void pending_release(PendingReleases::node_type pending_release, Instant at);

  // Runs on the callbacks' thread.
  void call(std::function<void()> function) { callbacks_->run(std::move(function)); }

  bool on_deadline_thread() const noexcept { return deadline_thread_.is_this_thread(); }

 private:
  struct State;
  bool renewed_by_hand(LeaseState& lease, std::optional<Instant> deadline);

  const std::shared_ptr<State> state_;
  const std::shared_ptr<Callbacks> callbacks_;
  std::mutex ready_mutex_;  // guards the start of what follows
  std::atomic<bool> ready_ = false;
  Worker renewal_thread_, deadline_thread_;
};

}  // namespace holdfast
