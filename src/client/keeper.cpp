// SPDX-License-Identifier: Apache-2.0
#include "client/keeper.h"

#include <algorithm>
#include <cassert>
#include <utility>

#include "base/text.h"
#include "base/time.h"

namespace holdfast {
namespace {

using namespace std::chrono_literals;

constexpr Millis patience_with_store = 1s;   // with a store that hangs while the client is destroyed
constexpr Millis patience_with_users = 10s;  // with a `finished` that runs while its lease is released

constexpr Millis early = 1ms;  // the stop is requested before the deadline, at which held() turns false
constexpr Millis patience_with_deadline_thread = 100ms;
constexpr Millis slow = 10ms;  // for a stop_callback: all leases wait for it

Lost ran_out() { return {Loss::unreachable, "its deadline passed and no renewal had been confirmed"}; }

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
  try {
    state_->leases.emplace(lease->id, lease);
    if (lease->named) state_->named.emplace(lease->key, lease.get());
    state_->keeping.add(lease->id, belief, lease->claim ? &lease->claim->at_once : nullptr);
  } catch (...) {
    state_->remove(*lease);
    throw;
  }
  if (lease->named) state_->forget_releases_of(*lease);
  state_->wake_threads_if_due();
}

void Keeper::drop(const LeaseState& lease) {
  std::unique_lock lock(state_->mutex);
  state_->remove(lease);
  const auto answered = [&] { return state_->asking != lease.id; };
  if (!answered() && !renewal_thread_.is_this_thread())
    state_->answered.wait_for(lock, patience_with_users, answered);
}

std::vector<std::shared_ptr<LeaseState>> Keeper::others_of(const LeaseState& lease) {
  const std::lock_guard lock(state_->mutex);
  return state_->others_of(lease);
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
  state_->set_renewed(lease, *deadline);
  state_->wake_threads_if_due();
  return true;
}

void Keeper::lose_now(const std::shared_ptr<LeaseState>& lease, Lost lost) {
  state_->lose(lease, std::move(lost));
  if (!deadline_thread_.is_this_thread())
    state_->await_loss(*lease);
  else if (lease->is_losing())
    state_->finish_loss(*lease);
}

void Keeper::lose(const std::shared_ptr<LeaseState>& lease, Lost lost) {
  state_->lose(lease, std::move(lost));
}

void Keeper::notify_lost(LeaseState& lease) {
  const std::lock_guard lock(lease.mutex);
  if (std::exchange(lease.loss_notified, true) || !lease.on_lost) return;
  call([f = lease.on_lost, lost = lease.lost] { f(lost); });
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

// -- for callers and both threads

void Keeper::State::close() {
  const std::lock_guard lock(mutex);
  closed = true;
  renewal_wakeup.ring();
  deadline_wakeup.ring();
}

void Keeper::State::remove(const LeaseState& lease) {
  keeping.remove(lease.id);
  const auto [first, last] = named.equal_range(lease.key);
  const auto found = std::find_if(first, last, [&](const auto& entry) { return entry.second == &lease; });
  if (found != last) named.erase(found);
  leases.erase(lease.id);
}

Keeper::State::LeaseStates Keeper::State::others_of(const LeaseState& lease) const {
  LeaseStates others;
  const auto [first, last] = named.equal_range(lease.key);
  for (auto entry = first; entry != last; ++entry) {
    const LeaseState& other = *entry->second;
    if (&other != &lease && other.is_grant_of(lease)) others.push_back(leases.at(other.id));
  }
  return others;
}

void Keeper::State::forget_releases_of(const LeaseState& lease) {
  std::erase_if(pending_releases, [&](const auto& entry) { return entry.second.is_of(lease); });
}

bool Keeper::State::is_held_again(const PendingRelease& release) const {
  const auto [first, last] = named.equal_range(release.key);
  return std::any_of(first, last, [&](const auto& entry) { return release.is_of(*entry.second); });
}

void Keeper::State::wake_threads_if_due() {
  if (keeping.next_event() < deadline_sleeps_until) deadline_wakeup.ring();
  if (keeping.next_renewal() < renewal_sleeps_until) renewal_wakeup.ring();
}

void Keeper::State::set_renewed(LeaseState& lease, Instant deadline) {
  lease.deadline.store(deadline.time_since_epoch().count(), std::memory_order_release);
  const std::lock_guard lock(lease.mutex);
  lease.in_jeopardy = false;
  if (lease.on_renewed) callbacks->run([f = lease.on_renewed, deadline] { f(deadline); });
}

void Keeper::State::lose(const std::shared_ptr<LeaseState>& lease, Lost why) {
  const std::lock_guard lock(mutex);
  store_losses.push_back(lease);  // first: it may throw
  if (!lease->begin_loss(std::move(why))) return store_losses.pop_back();
  remove(*lease);
  deadline_wakeup.ring();
}

// If a slow stop_callback keeps the deadline thread busy, the caller's thread finishes the loss itself.
void Keeper::State::await_loss(LeaseState& lease) {
  const auto is_over = [&] { return lease.phase.load() != LeaseState::Phase::held; };
  {
    std::unique_lock lock(mutex);
    if (loss_finished.wait_for(lock, patience_with_deadline_thread, is_over)) return;
  }
  if (lease.is_losing()) finish_loss(lease);
}

// -- the deadline thread

void Keeper::State::deadline_thread() {
  while (true) {
    retry_unnotified();
    const bool well = guarded([this] {
      while (handle_next_event()) {
      }
    });
    Instant next;
    {
      const std::lock_guard lock(mutex);
      if (closed) break;
      next = keeping.next_event();
      if (next != Instant::max()) next -= early;
      if (!well || unnotified) next = clamped_add(BootClock::now(), without_memory);
      deadline_sleeps_until = next;
    }
    deadline_wakeup.wait(next);
    const std::lock_guard lock(mutex);
    deadline_sleeps_until = Instant::min();
  }
  while (unnotified) unnotified = std::move(unnotified->next_unnotified);
}

// Handles one event, so that none is forgotten when there is no memory for a list.  False: there is no event.
bool Keeper::State::handle_next_event() {
  std::shared_ptr<LeaseState> lease;
  bool lost = true;
  {
    const std::lock_guard lock(mutex);
    if (closed) return false;
    if (!store_losses.empty()) {
      lease = std::move(store_losses.front());
      store_losses.pop_front();
    } else if (const auto next = keeping.take_events(BootClock::now() + early, 1); !next.empty()) {
      lease = leases.at(next[0].id);
      lost = next[0].lost;
      if (lost) remove(*lease);
    } else {
      return false;
    }
  }
  if (lost)
    handle_loss(lease);
  else
    handle_jeopardy(lease);
  return true;
}

void Keeper::State::handle_jeopardy(const std::shared_ptr<LeaseState>& lease) {
  const std::lock_guard lock(lease->mutex);
  lease->in_jeopardy = true;
  if (lease->on_jeopardy) callbacks->run(lease->on_jeopardy);
  if (observes(*lease))
    report_later([lease](Telemetry& to) { to.notify(&Observer::on_jeopardy, to.about(*lease)); });
}

void Keeper::State::handle_loss(const std::shared_ptr<LeaseState>& lease) noexcept {
  // The lease is lost also if there is no memory for the text.
  if (!guarded([&] { lease->begin_loss(ran_out()); })) lease->begin_loss({Loss::unreachable, {}});
  if (!lease->is_losing()) return;
  finish_loss(*lease);
  if (lease->phase.load() != LeaseState::Phase::lost) return;  // a stop_callback has released it
  if (guarded([&] { notify_lost(lease); })) return;
  lease->next_unnotified = std::move(unnotified);
  unnotified = lease;
}

void Keeper::State::retry_unnotified() {
  for (auto lease = std::move(unnotified); lease;) {
    const auto next = std::move(lease->next_unnotified);
    handle_loss(lease);
    lease = next;
  }
}

// Requests the stop, which runs the holder's stop_callbacks on this thread, and lets held() turn false.
void Keeper::State::finish_loss(LeaseState& lease) noexcept {
  const Instant start = BootClock::now();
  const bool requested = lease.request_stop();
  const auto took = std::chrono::floor<Millis>(BootClock::now() - start);
  {
    const std::lock_guard lock(mutex);
    lease.finish_loss();
  }
  loss_finished.notify_all();
  if (!requested || took <= slow) return;
  if (!telemetry->logs()) return;
  guarded([&] {
    callbacks->get_ready();
    report_later([key = lease.key, took](Telemetry& to) {
      to.log(LogLevel::warning,
             "a stop_callback of the lease on " + printable(key) + " took " + format_duration(took) +
                 ": all other leases wait for it; make it shorter",
             {{"key", key}});
    });
  });
}

void Keeper::State::notify_lost(const std::shared_ptr<LeaseState>& lease) {
  const std::lock_guard lock(lease->mutex);
  if (lease->loss_notified) return;
  if (lease->on_lost) callbacks->run([f = lease->on_lost, lost = lease->lost] { f(lost); });
  lease->loss_notified = true;
  if (!observes(*lease)) return;
  guarded([&] {
    report_later([lease, lost = lease->lost](Telemetry& to) {
      to.notify(&Observer::on_lost, LostEvent{to.about(*lease), lost});
    });
  });
}

// Reports on the callbacks' thread, because the deadline thread must not wait for the user's functions.
void Keeper::State::report_later(std::function<void(Telemetry&)> report) {
  callbacks->run([to = telemetry, report = std::move(report)] { to->in_background([&] { report(*to); }); });
}

}  // namespace holdfast
