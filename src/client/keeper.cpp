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

Keeper::Keeper(std::shared_ptr<Origin> origin, std::shared_ptr<Store> spare, const ClientOptions& options,
               Heir heir)
    : state_(std::make_shared<State>(std::move(origin), std::move(spare), options, std::move(heir))),
      callbacks_(state_->callbacks) {}

Keeper::~Keeper() {
  state_->close();
  pulse_.finish(patience_with_store);
  alarm_.finish(patience_with_store);
  callbacks_->close();
  state_->be_silent(patience_with_store);
}

void Keeper::purge_every(Millis interval) {
  const std::lock_guard lock(state_->mutex);
  state_->purge_every = interval;
}

void Keeper::get_ready() {
  if (ready_) return;
  const std::lock_guard lock(ready_mutex_);
  if (ready_) return;
  if (!alarm_.started()) alarm_ = Worker([state = state_] { state->alarm(); });
  pulse_ = Worker([state = state_] { state->pulse(); });
  ready_ = true;
}

void Keeper::keep(const std::shared_ptr<Hold>& hold, core::Belief belief) {
  assert(ready_);
  const std::lock_guard lock(state_->mutex);
  hold->id = ++state_->last_id;
  hold->ttl_ms = belief.ttl().count();
  hold->deadline = belief.deadline().time_since_epoch().count();
  const auto known = state_->holds.emplace(hold->id, hold).first;
  try {
    state_->keeping.add(hold->id, belief);
  } catch (...) {
    state_->holds.erase(known);
    throw;
  }
  if (state_->keeping.next_alarm() < state_->alarm_sleeps_until) state_->alarm_wakeup.ring();
  if (state_->keeping.next_renewal() < state_->pulse_sleeps_until) state_->pulse_wakeup.ring();
}

void Keeper::drop(const Hold& hold) {
  std::unique_lock lock(state_->mutex);
  state_->keeping.remove(hold.id);
  state_->holds.erase(hold.id);
  const auto answered = [&] { return state_->asking != hold.id; };
  if (!answered() && !pulse_.is_this_thread()) state_->answered.wait_for(lock, patience_with_users, answered);
}

bool Keeper::renewed(Hold& hold, Millis ttl, Instant sent, Millis remaining) {
  const std::lock_guard lock(state_->mutex);
  state_->keeping.set_ttl(hold.id, ttl);
  hold.ttl_ms = ttl.count();
  return renewed_by_hand(hold, state_->keeping.renewed(hold.id, sent, remaining, BootClock::now(), true));
}

bool Keeper::extended(Hold& hold, Millis more, Instant sent, Millis remaining) {
  const std::lock_guard lock(state_->mutex);
  return renewed_by_hand(hold, state_->keeping.extended(hold.id, more, sent, remaining, BootClock::now()));
}

// REQUIRES: the state's mutex is held.
bool Keeper::renewed_by_hand(Hold& hold, std::optional<Instant> deadline) {
  if (!deadline) return false;
  state_->tell_renewed(hold, *deadline);
  if (state_->keeping.next_renewal() < state_->pulse_sleeps_until) state_->pulse_wakeup.ring();
  if (state_->keeping.next_alarm() < state_->alarm_sleeps_until) state_->alarm_wakeup.ring();
  return true;
}

void Keeper::lose(const std::shared_ptr<Hold>& hold, Lost lost) { state_->lose(hold, std::move(lost)); }

Keeper::Errands::node_type Keeper::room_for(const Request& r) {
  Errands made;
  return made.extract(made.emplace(
      Instant(), Errand{r.verb, std::string(r.key.text), std::string(r.holder.text), r.token, r.place}));
}

void Keeper::errand(Errands::node_type errand, Instant at) {
  assert(ready_);
  const std::lock_guard lock(state_->mutex);
  errand.key() = at;
  state_->errands.insert(std::move(errand));
  if (at < state_->pulse_sleeps_until) state_->pulse_wakeup.ring();
}

}  // namespace holdfast
