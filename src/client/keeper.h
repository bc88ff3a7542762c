// SPDX-License-Identifier: Apache-2.0
// keeper.h - renews all leases of a client, and reports jeopardy and loss in time.
//
//   keeper.cpp          what callers use, and the deadline thread
//   renewal_thread.cpp  the renewal thread: everything that talks to the store
#pragma once
#include <atomic>
#include <deque>
#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/random.h"
#include "base/sync.h"
#include "base/wakeup.h"
#include "base/worker.h"
#include "client/callbacks.h"
#include "client/lease_state.h"
#include "client/telemetry.h"
#include "core/batching.h"
#include "core/keeping.h"
#include "holdfast/spi/store.h"

namespace holdfast {

// Two threads share one core::Keeping.  The *renewal thread* renews the leases that are due and sends pending
// releases, on a connection of its own.  It sends as many renewals in one batch as the store answers well
// within the time limit of a call.  The *deadline thread* does no I/O: it reports jeopardy and loss on time,
// also while every connection hangs.  Both start before the first lease is acquired.  If the store does not
// purge by itself, a third thread purges from time to time and ends.  The claims of jobs are kept like
// leases, with a request of their own (ClaimRenewals).
//
// The threads own everything that they use, so a callback may destroy the client.
class Keeper {
 public:
  // Whether a thread of this process waits for a key and takes over our place in the queue.  Any thread may
  // call it, also after the client was destroyed.
  using Heir = std::function<bool(std::string_view key)>;

  // The keeper shares `spare` with the client's callers, and uses it while it cannot connect by itself.
  Keeper(std::shared_ptr<Store> store, std::shared_ptr<StoreConnection> spare,
         std::shared_ptr<Telemetry> telemetry, Heir heir);
  ~Keeper();

  // Purges at this interval while leases are kept.  Call it before the first keep().
  void purge_every(Millis interval);

  // Starts the threads, if they do not run yet.  Throws NoThread, so call it before anything is acquired that
  // needs them.
  void get_ready();
  // The same for the thread of the user's functions.
  void get_ready_to_call() { callbacks_->get_ready(); }

  // REQUIRES: get_ready() has returned.  The same holds for pending_release().
  void keep(const std::shared_ptr<LeaseState>& lease, core::Belief belief);
  // The lease is being released: it is not renewed any more, its `finished` is not called, its loss not
  // reported.
  void drop(const LeaseState& lease);
  // The other leases of the same grant: the same owner name has acquired the key several times.
  std::vector<std::shared_ptr<LeaseState>> others_of(const LeaseState& lease);

  // A renewal by hand was granted; extended(): one that asked for `more` time.  False: the deadline had
  // passed.
  bool renewed(LeaseState& lease, Millis ttl, Instant sent, Millis remaining);
  bool extended(LeaseState& lease, Millis more, Instant sent, Millis remaining);
  // The store replied that the lease is lost.  Returns when its stop was requested and held() is false; the
  // thread that does this does not wait for itself.
  void lose_now(const std::shared_ptr<LeaseState>& lease, Lost lost);
  // The same without waiting.
  void lose(const std::shared_ptr<LeaseState>& lease, Lost lost);
  // Calls on_lost of a lease that is being lost, unless it was called.
  void notify_lost(LeaseState& lease);

  // A request that the renewal thread sends, and repeats until the store has answered it.
  struct PendingRelease {
    Verb verb;
    std::string key, owner;
    Token token;
    Millis place;
    Instant give_up = Instant::max();
    Instant again = Instant::min();  // if the store answers before then, it is sent once more at that time
    bool answered = false;
    int failures = 0;  // in a row

    bool is_of(const LeaseState& lease) const noexcept {
      return key == lease.key && owner == lease.owner && (token == no_token || token == lease.token);
    }
  };
  using PendingReleases = std::multimap<Instant, PendingRelease>;  // by the time at which it is sent

  // Allocates a pending release with the texts of `request`.  A caller that does so before it acquires a
  // lease can give the lease back when no memory is left.
  static PendingReleases::node_type room_for(const Request& request);
  // Sends it at that moment, or as soon as possible after it.
  void pending_release(PendingReleases::node_type pending_release, Instant at);

  // Runs `function` on the callbacks' thread.
  void call(std::function<void()> function) { callbacks_->run(std::move(function)); }

  bool on_deadline_thread() const noexcept { return deadline_thread_.is_this_thread(); }

 private:
  struct State;
  bool renewed_by_hand(LeaseState& lease, std::optional<Instant> deadline);

  const std::shared_ptr<State> state_;
  const std::shared_ptr<Callbacks> callbacks_;
  Mutex ready_mutex_;  // guards the start of the threads
  std::atomic<bool> ready_ = false;
  Worker renewal_thread_, deadline_thread_;
};

// What the keeper and its threads share.  The threads own it too, and can outlive the Keeper.
struct Keeper::State : std::enable_shared_from_this<State> {
  State(std::shared_ptr<Store> o, std::shared_ptr<StoreConnection> s, std::shared_ptr<Telemetry> t, Heir h)
      : store(std::move(o)),
        spare(std::move(s)),
        telemetry(std::move(t)),
        heir(std::move(h)),
        callbacks(std::make_shared<Callbacks>()),
        jitter(random_bits()) {}

  using LeaseStates = std::vector<std::shared_ptr<LeaseState>>;
  static constexpr Millis without_memory{10};  // before a thread tries again

  // The threads.  Each returns after close().
  void deadline_thread();
  void renewal_thread();
  void close();

  // The store replied that the lease is lost.  Takes no lock for long and calls no callback: the deadline
  // thread requests the stop, and then held() turns false.  await_loss() waits for that.
  void lose(const std::shared_ptr<LeaseState>& lease, Lost why);
  void await_loss(LeaseState& lease);
  // Requests the stop of a lease that is being lost, and lets held() turn false.
  void finish_loss(LeaseState& lease) noexcept;
  // These REQUIRE that `mutex` is held.
  void remove(const LeaseState& lease);
  LeaseStates others_of(const LeaseState& lease) const;
  // The same owner name has acquired the key again, so a release that was not sent yet must not free it.
  void forget_releases_of(const LeaseState& lease);
  bool is_held_again(const PendingRelease& release) const;
  void set_renewed(LeaseState& lease, Instant deadline);
  void wake_threads_if_due();

  const std::shared_ptr<Store> store;
  const std::shared_ptr<StoreConnection> spare;
  const std::shared_ptr<Telemetry> telemetry;
  const Heir heir;
  const std::shared_ptr<Callbacks> callbacks;
  Wakeup renewal_wakeup, deadline_wakeup;

  Mutex mutex;  // guards what follows
  core::Keeping keeping;
  std::map<core::Keeping::Id, std::shared_ptr<LeaseState>> leases;  // those in `keeping`
  std::multimap<std::string_view, LeaseState*> named;               // of these: LeaseState::named, by key
  core::Keeping::Id last_id = 0;
  std::optional<core::Keeping::Id> asking;  // the lease whose `finished` is running
  Condition answered;                       // `finished` has returned
  Condition loss_finished;
  Instant renewal_sleeps_until = Instant::max(), deadline_sleeps_until = Instant::max();
  PendingReleases pending_releases;
  std::deque<std::shared_ptr<LeaseState>> store_losses;  // lost by a reply; the deadline thread takes them
  bool closed = false;
  Jitter jitter;
  Millis purge_every = Millis(never);
  bool first_purge_planned = true;  // there is none to plan

 private:
  // -- the deadline thread

  bool handle_next_event();
  void handle_jeopardy(const std::shared_ptr<LeaseState>& lease);
  void handle_loss(const std::shared_ptr<LeaseState>& lease) noexcept;
  void notify_lost(const std::shared_ptr<LeaseState>& lease);
  void retry_unnotified();
  bool observes(const LeaseState& lease) const noexcept { return telemetry->observes() && !lease.claim; }
  void report_later(std::function<void(Telemetry&)> report);

  // Lost leases whose functions could not be called yet because no memory was left.  The list is linked
  // through the leases, so it needs none.
  std::shared_ptr<LeaseState> unnotified;

  // -- the renewal thread: renewals

  LeaseStates take_due(Instant now);
  bool is_finished(const LeaseState& lease);
  void renew(StoreConnection& connection, const LeaseStates& due);
  void settle_renewed(const std::shared_ptr<LeaseState>& lease, const Reply& reply, Instant sent);
  Instant time_for_a_call(Instant now);
  void log(LogLevel level, std::string_view text, std::initializer_list<LogField> fields = {});
  void log_failures(std::string& before, const LeaseStates& failed, const std::string& why);
  void log_failed_claim(LeaseState& claim, const std::string& why);
  void log_failed(const LeaseState& lease, const std::string& why);
  void report_renewals(const LeaseStates& due, const Status& status, std::span<const Reply> replies);
  void report_calls();

  std::string trouble;  // why the last renewal of leases failed; empty: it did not
  core::BatchSize renewals_at_once, releases_at_once;

  // -- the renewal thread: pending releases

  void send_pending_releases(StoreConnection& connection, Instant now);
  PendingReleases take_pending_releases(Instant now, std::size_t most);
  bool send_due_releases(StoreConnection& connection, PendingReleases& due);
  void report_releases(PendingReleases& due, const Status& status, std::span<const Reply> replies);
  void send_again_later(PendingReleases due, Instant now);
  bool is_closed() {
    const std::lock_guard lock(mutex);
    return closed;
  }

  // -- the renewal thread: purges

  Instant plan_purge(Instant now);
  void purge_if_due(Instant now);
  void purge();
  bool is_purge_planned() {
    const std::lock_guard lock(mutex);
    return first_purge_planned;
  }

  Instant next_purge = Instant::max();
  Worker purging;
  std::atomic<bool> purge_refused = false;
};

}  // namespace holdfast
