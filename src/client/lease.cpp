// SPDX-License-Identifier: Apache-2.0
#include "holdfast/lease.h"

#include <algorithm>

#include "base/text.h"
#include "client/client_state.h"
#include "core/check.h"

namespace holdfast {
namespace {

constexpr Millis longest_remaining = std::chrono::hours(24 * 365 * 100);

Error holds_nothing() { return {.code = Errc::lost, .detail = "this Lease object holds no lease"}; }

}  // namespace

const char* to_string(Released released) noexcept {
  switch (released) {
    case Released::released: return "released";
    case Released::already_released: return "already_released";
    case Released::expired: return "expired";
    case Released::broken: return "broken";
    case Released::stolen: return "stolen";
    case Released::never_held: return "never_held";
  }
  return "?";
}

Lease::Lease(std::shared_ptr<LeaseState> lease, std::shared_ptr<ClientState> client) noexcept
    : state_(std::move(lease)), client_(std::move(client)) {}

Lease::Lease(Lease&& other) noexcept = default;

Lease& Lease::operator=(Lease&& other) noexcept {
  if (this == &other) return *this;
  const bool same = state_ && other.state_ && !client_->forked() && !other.client_->forked() &&
                    other.state_->is_grant_of(*state_) &&
                    client_->store()->name() == other.client_->store()->name();
  if (same) other.go_on_from(*state_);
  let_go(same ? other.state_.get() : nullptr);
  state_ = std::move(other.state_);
  client_ = std::move(other.client_);
  return *this;
}

// The same grant, acquired again by the same owner name: stop tokens of the earlier object apply to this one,
// and its functions where this one has none.
void Lease::go_on_from(LeaseState& earlier) noexcept {
  LeaseState& state = *state_;
  try {
    std::function<void()> jeopardy;
    std::function<void(Instant)> renewed;
    std::function<void(const Lost&)> lost;
    bool losing = false;
    if (earlier.is_losing()) {  // the deadline thread would find it released, and notify nobody
      earlier.request_stop();
      client_->keeper().notify_lost(earlier);
      return;
    }
    {
      const std::scoped_lock lock(state.mutex, earlier.mutex);
      if (earlier.phase.load() != LeaseState::Phase::held) return;
      auto sources = state.earlier_sources;
      sources.insert(sources.end(), earlier.earlier_sources.begin(), earlier.earlier_sources.end());
      if (state.stop_given)
        sources.push_back(earlier.lost_source);
      else
        std::swap(state.lost_source, earlier.lost_source);
      state.earlier_sources = std::move(sources);
      state.stop_given = true;
      if (!state.on_jeopardy) jeopardy = std::move(earlier.on_jeopardy);
      if (!state.on_renewed) renewed = std::move(earlier.on_renewed);
      if (!state.on_lost) lost = std::move(earlier.on_lost);
      losing = state.losing || earlier.losing;
    }
    if (losing) state.request_stop();
    if (jeopardy) on_jeopardy(std::move(jeopardy));
    if (renewed) on_renewed(std::move(renewed));
    if (lost) on_lost(std::move(lost));
  } catch (...) {  // without memory or threads nobody could be notified later
    earlier.request_stop();
    state.request_stop();
  }
}

Lease::~Lease() { let_go(nullptr); }

void Lease::let_go(const LeaseState* next) noexcept {
  if (!client_) return;
  if (client_->forked()) {
    ClientState& client = *client_;
    client.leak(std::move(state_));
    client.leak(std::move(client_));
    return;
  }
  client_->let_go(state_, next);
  state_.reset();
  client_.reset();
}

bool Lease::held() const noexcept { return state_ && !client_->forked() && state_->held(); }

Instant Lease::deadline() const noexcept { return state_ ? state_->believed_until() : Instant::min(); }

Millis Lease::remaining() const noexcept {
  if (!held()) return Millis::zero();
  const Instant deadline = state_->believed_until();
  const Millis left = std::chrono::floor<Millis>(deadline - BootClock::now());
  return std::clamp(left, Millis::zero(), longest_remaining);
}

std::string_view Lease::key() const noexcept {
  return state_ ? std::string_view(state_->key) : std::string_view();
}
std::string_view Lease::owner() const noexcept {
  return state_ ? std::string_view(state_->owner) : std::string_view();
}
Token Lease::token() const noexcept { return state_ ? state_->token : no_token; }
int Lease::attempts() const noexcept { return state_ ? state_->attempts : 0; }

std::stop_token Lease::stop_token() const {
  if (state_ && !client_->forked()) return state_->give_stop();
  std::stop_source stopped;  // a lease that is not held counts as lost
  stopped.request_stop();
  return stopped.get_token();
}

Lost Lease::lost() const {
  if (!state_) return {};
  if (client_->forked()) return {Loss::forked, "the lease belongs to the parent process"};
  const std::lock_guard lock(state_->mutex);
  if (state_->lost.reason != Loss::none) return state_->lost;
  const bool past =
      state_->phase.load() == LeaseState::Phase::held && BootClock::now() >= state_->believed_until();
  return past ? Lost{Loss::unreachable, "its deadline passed and no renewal had been confirmed"} : Lost{};
}

void Lease::check() const {
  if (held()) return;
  if (!state_) throw_failure(holds_nothing());
  const Lost why = lost();
  const std::string reason = why.reason == Loss::none ? "it was released" : why.detail;
  throw_failure({.code = Errc::lost,
                 .detail = "the lease on " + printable(state_->key) + " is not held any more: " + reason,
                 .loss = why.reason});
}

void Lease::on_jeopardy(std::function<void()> function) {
  if (!state_ || client_->forked()) return;
  client_->keeper().get_ready_to_call();
  const std::lock_guard lock(state_->mutex);
  state_->on_jeopardy = std::move(function);
  if (state_->in_jeopardy && state_->on_jeopardy) client_->keeper().call(state_->on_jeopardy);
}

void Lease::on_lost(std::function<void(const Lost&)> function) {
  if (!state_ || client_->forked()) return;
  client_->keeper().get_ready_to_call();
  const std::lock_guard lock(state_->mutex);
  state_->on_lost = std::move(function);
  if (state_->loss_notified && state_->on_lost) {
    client_->keeper().call([f = state_->on_lost, lost = state_->lost] { f(lost); });
  }
}

void Lease::on_renewed(std::function<void(Instant)> function) {
  if (!state_ || client_->forked()) return;
  client_->keeper().get_ready_to_call();
  const std::lock_guard lock(state_->mutex);
  state_->on_renewed = std::move(function);
}

Status Lease::renew_by(Millis ttl, bool extend) {
  if (!state_) return holds_nothing();
  return client_->renew(state_, ttl, extend);
}

Status Lease::try_renew(std::optional<Ttl> ttl) {
  if (!state_) return holds_nothing();
  if (Status s = check_ttl(ttl.value_or(state_->ttl())); !s) return s;
  return renew_by(ttl.value_or(state_->ttl()), false);
}

Status Lease::try_extend_by(Millis more) {
  if (Status s = core::check_extension(more); !s) return s;
  return renew_by(more, true);
}

Result<Released> Lease::try_release() {
  if (!state_) return Released::never_held;
  return client_->release(state_);
}

}  // namespace holdfast
