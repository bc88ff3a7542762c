// SPDX-License-Identifier: Apache-2.0
#include "client/waiting.h"

#include <algorithm>
#include <utility>

namespace holdfast {
namespace {

using namespace std::chrono_literals;

constexpr Millis patience_with_listener = 1s;
constexpr Millis after_failure = 100ms;  // a listener that cannot be read; meanwhile the waiters poll

}  // namespace

Waiting::~Waiting() {
  {
    const std::lock_guard lock(state_->mutex);
    state_->closed = true;
  }
  state_->wakeup.ring();
  listener_.finish(patience_with_listener);
}

Waiting::Waiter::Waiter(Waiting& waiting, std::string_view key) : waiting_(waiting), key_(key) {
  const std::lock_guard lock(waiting_.state_->mutex);
  waiting_.state_->doors[key_].gate.enter(this);
}

Waiting::Waiter::~Waiter() {
  const std::lock_guard lock(waiting_.state_->mutex);
  leave_gate();
}

void Waiting::Waiter::leave_gate() {
  if (std::exchange(left_, true)) return;
  const auto at = waiting_.state_->doors.find(key_);
  if (const auto next = at->second.gate.leave(this)) (*next)->ring();
  if (at->second.gate.empty()) waiting_.state_->doors.erase(at);
}

Waiting::Door& Waiting::Waiter::door() const { return waiting_.state_->doors.find(key_)->second; }

bool Waiting::Waiter::first() const {
  const std::lock_guard lock(waiting_.state_->mutex);
  return door().gate.first(const_cast<Waiter*>(this));
}

void Waiting::Waiter::queueing() {
  const std::lock_guard lock(waiting_.state_->mutex);
  door().queued = true;
}

void Waiting::Waiter::granted() {
  const std::lock_guard lock(waiting_.state_->mutex);
  door().queued = false;
}

bool Waiting::Waiter::leave() {
  const std::lock_guard lock(waiting_.state_->mutex);
  if (left_) return false;
  const bool last = door().queued && door().gate.size() == 1;
  leave_gate();
  return last;
}

void Waiting::Waiter::sleep(Instant until) {
  {
    const std::lock_guard lock(waiting_.state_->mutex);
    if (std::exchange(rung_, false)) return;
    if (!wakeup_) wakeup_.emplace();
  }
  wakeup_->wait(until);
}

void Waiting::Waiter::wake() {
  const std::lock_guard lock(waiting_.state_->mutex);
  ring();
}

void Waiting::Waiter::ring() {
  if (wakeup_)
    wakeup_->ring();
  else
    rung_ = true;
}

void Waiting::Waiter::set_last_reply(const Reply& reply) {
  const std::lock_guard lock(waiting_.state_->mutex);
  door().last = reply;
}

Reply Waiting::Waiter::last_reply() const {
  const std::lock_guard lock(waiting_.state_->mutex);
  return door().last;
}

std::optional<Reply> Waiting::queue_at(std::string_view key) const {
  const std::lock_guard lock(state_->mutex);
  const auto door = state_->doors.find(key);
  if (door == state_->doors.end()) return std::nullopt;
  return door->second.last;
}

std::size_t Waiting::waiters(std::string_view key) const {
  const std::lock_guard lock(state_->mutex);
  const auto door = state_->doors.find(key);
  return door == state_->doors.end() ? 0 : door->second.gate.size();
}

std::function<bool(std::string_view)> Waiting::heir() const {
  return [state = state_](std::string_view key) {
    const std::lock_guard lock(state->mutex);
    const auto door = state->doors.find(key);
    if (door == state->doors.end()) return false;
    door->second.queued = true;
    return true;
  };
}

void Waiting::listen(Instant until) {
  {
    const std::lock_guard lock(listening_mutex_);
    if (listening_) return;
    if (std::exchange(connecting_, true)) {
      passed_by_ = true;
      return;
    }
  }
  bool listens = false;
  try {
    if (auto made = make_listener_(until)) {
      const std::shared_ptr<StoreListener> listener = *std::move(made);
      if (listener) listener_ = Worker([state = state_, listener] { ring(*state, *listener); });
      listens = true;
    }
  } catch (...) {  // out of threads, descriptors or memory: the next call tries again
  }
  const std::lock_guard lock(listening_mutex_);
  connecting_ = false;
  listening_ = listens;
  // They may have checked their keys before we subscribed.
  if (std::exchange(passed_by_, false)) wake(*state_, nullptr);
}

void Waiting::wake(State& state, const std::vector<std::string>* keys) {
  const std::lock_guard lock(state.mutex);
  for (auto& [key, door] : state.doors) {
    const bool concerned = keys == nullptr || std::find(keys->begin(), keys->end(), key) != keys->end();
    if (concerned && !door.gate.empty()) (*door.gate.front())->ring();
  }
}

void Waiting::ring(State& state, StoreListener& listener) {
  while (true) {
    const auto why = state.wakeup.wait(Instant::max(), listener.fd());
    if (why == Wakeup::Why::extra) {
      Result<std::vector<std::string>> keys = Error{Errc::unavailable, {}};
      guarded([&] { keys = listener.ready(); });
      if (!keys) state.wakeup.wait(clamped_add(BootClock::now(), after_failure));
      wake(state, keys && !keys->empty() ? &*keys : nullptr);
    }
    const std::lock_guard lock(state.mutex);
    if (state.closed) return;
  }
}

}  // namespace holdfast
