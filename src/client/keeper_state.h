// SPDX-License-Identifier: Apache-2.0
// keeper_state.h - what the keeper's two threads share, and what each of them does.
#pragma once
#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/fd.h"
#include "base/random.h"
#include "base/worker.h"
#include "client/callbacks.h"
#include "client/keeper.h"
#include "client/lease_state.h"
#include "client/telemetry.h"
#include "core/batching.h"
#include "core/keeping.h"

namespace holdfast {

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
  void renewal_thread();
  void deadline_thread();
  void close();

  // The store said so.  Takes no lock for long and calls nobody: the deadline thread requests the stop and
  // then lets held() turn false.  await_loss() returns when it has.
  void lose(const std::shared_ptr<LeaseState>& lease, Lost why);
  void await_loss(LeaseState& lease);
  void report_renewed(LeaseState& lease, Instant deadline);

  bool observes(const LeaseState& lease) const noexcept { return telemetry->observes() && !lease.claim; }
  void log(LogLevel level, std::string_view text, std::initializer_list<LogField> fields = {});
  void report_calls();
  // On the callbacks' thread: the deadline thread must not wait for the user's functions.
  void report_later(std::function<void(Telemetry&)> report);

  const std::shared_ptr<Store> store;
  const std::shared_ptr<StoreConnection> spare;
  const std::shared_ptr<Telemetry> telemetry;
  const Heir heir;
  const std::shared_ptr<Callbacks> callbacks;
  Wakeup renewal_wakeup, deadline_wakeup;

  std::mutex mutex;  // guards what follows
  core::Keeping keeping;
  std::map<core::Keeping::Id, std::shared_ptr<LeaseState>> leases;  // those in `keeping`
  core::Keeping::Id last_id = 0;
  std::optional<core::Keeping::Id> asking;  // whose `finished` runs just now
  std::condition_variable answered;         // it does not any more
  std::condition_variable loss_finished;
  Instant renewal_sleeps_until = Instant::max(), deadline_thread_sleeps_until = Instant::max();
  PendingReleases pending_releases;
  std::deque<std::shared_ptr<LeaseState>> to_announce;  // lost by the store's word; for the deadline thread
  bool closed = false;
  Jitter jitter;
  Millis purge_every = never;
  bool first_purge_planned = true;  // there is none to plan

 private:
  LeaseStates take_due(Instant now);
  bool is_finished(const LeaseState& lease);
  void renew(StoreConnection& connection, const LeaseStates& due);
  void settle_renewed(const std::shared_ptr<LeaseState>& lease, const Reply& reply, Instant sent);
  void log_failed(const LeaseStates& failed, const std::string& why);
  void report_renewals(const LeaseStates& due, const Status& status, std::span<const Reply> replies);
  void send_pending_releases(StoreConnection& connection, Instant now);
  PendingReleases take_pending_releases(Instant now, std::size_t most);
  bool send_due_releases(StoreConnection& connection, PendingReleases& due);
  void report_releases(PendingReleases& due, const Status& status, std::span<const Reply> replies);
  void run_again(PendingReleases due, Instant now);
  static Status apply(StoreConnection& connection, std::span<const Request> requests,
                      std::span<Reply> replies, Instant until);
  bool is_closed() {
    const std::lock_guard lock(mutex);
    return closed;
  }
  bool is_purge_planned() {
    const std::lock_guard lock(mutex);
    return first_purge_planned;
  }
  Instant plan_purge(Instant now);
  void purge_if_due(Instant now);
  Instant time_for_a_call(Instant now);
  bool tell_next();
  void tell_of_loss(const std::shared_ptr<LeaseState>& lease) noexcept;
  void tell_again();

  // The renewal thread's own.
  std::string trouble;  // why the last renewal failed; empty: it did not
  core::BatchSize renewals_at_once, releases_at_once;
  Instant next_purge = Instant::max();
  Worker purging;
  std::atomic<bool> purge_refused = false;
  // The deadline thread's own: those whose functions still have to be told, as no memory was left; a list of
  // their own links, which takes none.
  std::shared_ptr<LeaseState> untold;
  void finish_loss(LeaseState& lease) noexcept;
  void announce(const std::shared_ptr<LeaseState>& lease);
  void purge();
};

}  // namespace holdfast
