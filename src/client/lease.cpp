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
  // An owner that acquires its key again gets the same grant.  It must not be released with the old object.
  const bool same = state_ && other.state_ && !client_->forked() && state_->is_grant_of(*other.state_) &&
                    client_->store()->name() == other.client_->store()->name();
  if (same) {
    other.go_on_from(*state_);
    client_->forget(state_);
  } else {
    let_go();
  }
  state_ = std::move(other.state_);
  client_ = std::move(other.client_);
  return *this;
}

// Stop tokens and functions of the earlier object apply to this one from now on.
void Lease::go_on_from(LeaseState& earlier) {
  std::function<void()> on_jeopardy_before;
  std::function<void(const Lost&)> on_lost_before;
  std::function<void(Instant)> on_renewed_before;
  std::stop_source source(std::nostopstate);
  {
    const std::lock_guard lock(earlier.mutex);
    if (earlier.phase.load() != LeaseState::Phase::held || earlier.losing) return;
    on_jeopardy_before = earlier.on_jeopardy;
    on_lost_before = earlier.on_lost;
    on_renewed_before = earlier.on_renewed;
    source = earlier.lost_source;
  }
  bool lost = false;
  {
    const std::lock_guard lock(state_->mutex);
    lost = state_->phase.load() == LeaseState::Phase::lost;
    if (!lost) state_->lost_source = source;
  }
  if (lost) source.request_stop();
  if (on_jeopardy_before) on_jeopardy(std::move(on_jeopardy_before));
  if (on_lost_before) on_lost(std::move(on_lost_before));
  if (on_renewed_before) on_renewed(std::move(on_renewed_before));
}

Lease::~Lease() { let_go(); }

void Lease::let_go() noexcept {
  if (!client_) return;
  if (client_->forked()) {
    ClientState& client = *client_;
    client.leak(std::move(state_));
    client.leak(std::move(client_));
    return;
  }
  client_->let_go(state_);
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
  if (state_ && !client_->forked()) return state_->end().get_token();
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
  if (Status s = core::check_ttl(ttl.value_or(state_->ttl())); !s) return s;
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
