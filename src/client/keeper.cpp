// SPDX-License-Identifier: Apache-2.0
#include "client/keeper.h"

#include <cassert>

#include "client/keeper_state.h"

namespace holdfast {
namespace {

using namespace std::chrono_literals;

constexpr Millis patience_with_store = 1s;   // with a store that hangs while the client goes
constexpr Millis patience_with_users = 10s;  // with a `finished` that is asked while its lease goes

}  // namespace

Keeper::Keeper(std::shared_ptr<Store> store, std::shared_ptr<StoreConnection> spare,
               std::shared_ptr<Telemetry> telemetry, Heir heir)
    : state_(
          std::make_shared<State>(std::move(store), std::move(spare), std::move(telemetry), std::move(heir))),
      callbacks_(state_->callbacks) {}

Keeper::~Keeper() {
  state_->close();
  renewal_thread_.finish(patience_with_store);
  deadline_thread_.finish(patience_with_store);
  callbacks_->close();
  state_->telemetry->close(patience_with_store);
}

void Keeper::purge_every(Millis interval) {
  const std::lock_guard lock(state_->mutex);
  state_->purge_every = interval;
  state_->first_purge_planned = false;
  state_->renewal_wakeup.ring();
}

void Keeper::get_ready() {
  if (ready_) return;
  const std::lock_guard lock(ready_mutex_);
  if (ready_) return;
  if (state_->telemetry->observes()) callbacks_->get_ready();
  if (!deadline_thread_.started()) deadline_thread_ = Worker([state = state_] { state->deadline_thread(); });
  renewal_thread_ = Worker([state = state_] { state->renewal_thread(); });
  ready_ = true;
}

void Keeper::keep(const std::shared_ptr<LeaseState>& lease, core::Belief belief) {
  assert(ready_);
  const std::lock_guard lock(state_->mutex);
  lease->id = ++state_->last_id;
  lease->ttl_ms = belief.ttl().count();
  lease->deadline = belief.deadline().time_since_epoch().count();
  const auto known = state_->leases.emplace(lease->id, lease).first;
  try {
    state_->keeping.add(lease->id, belief);
  } catch (...) {
    state_->leases.erase(known);
    throw;
  }
  if (state_->keeping.next_event() < state_->deadline_thread_sleeps_until) state_->deadline_wakeup.ring();
  if (state_->keeping.next_renewal() < state_->renewal_sleeps_until) state_->renewal_wakeup.ring();
}

void Keeper::drop(const LeaseState& lease) {
  std::unique_lock lock(state_->mutex);
  state_->keeping.remove(lease.id);
  state_->leases.erase(lease.id);
  const auto answered = [&] { return state_->asking != lease.id; };
  if (!answered() && !renewal_thread_.is_this_thread())
    state_->answered.wait_for(lock, patience_with_users, answered);
}

bool Keeper::renewed(LeaseState& lease, Millis ttl, Instant sent, Millis remaining) {
  const std::lock_guard lock(state_->mutex);
  state_->keeping.set_ttl(lease.id, ttl);
  lease.ttl_ms = ttl.count();
  return renewed_by_hand(lease, state_->keeping.renewed(lease.id, sent, remaining, BootClock::now(), true));
}

bool Keeper::extended(LeaseState& lease, Millis more, Instant sent, Millis remaining) {
  const std::lock_guard lock(state_->mutex);
  return renewed_by_hand(lease, state_->keeping.extended(lease.id, more, sent, remaining, BootClock::now()));
}

// REQUIRES: the state's mutex is held.
bool Keeper::renewed_by_hand(LeaseState& lease, std::optional<Instant> deadline) {
  if (!deadline) return false;
  state_->report_renewed(lease, *deadline);
  if (state_->keeping.next_renewal() < state_->renewal_sleeps_until) state_->renewal_wakeup.ring();
  if (state_->keeping.next_event() < state_->deadline_thread_sleeps_until) state_->deadline_wakeup.ring();
  return true;
}

void Keeper::lose_now(const std::shared_ptr<LeaseState>& lease, Lost lost) {
  state_->lose(lease, std::move(lost));
  if (!deadline_thread_.is_this_thread()) state_->await_loss(*lease);
}

void Keeper::lose(const std::shared_ptr<LeaseState>& lease, Lost lost) {
  state_->lose(lease, std::move(lost));
}

Keeper::PendingReleases::node_type Keeper::room_for(const Request& r) {
  PendingReleases made;
  return made.extract(made.emplace(Instant(), PendingRelease{r.verb, std::string(r.key.text),
                                                             std::string(r.owner.text), r.token, r.place}));
}

void Keeper::pending_release(PendingReleases::node_type pending_release, Instant at) {
  assert(ready_);
  const std::lock_guard lock(state_->mutex);
  pending_release.key() = at;
  state_->pending_releases.insert(std::move(pending_release));
  if (at < state_->renewal_sleeps_until) state_->renewal_wakeup.ring();
}

}  // namespace holdfast
