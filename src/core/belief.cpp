// SPDX-License-Identifier: Apache-2.0
#include "core/belief.h"

#include <algorithm>

#include "core/timing.h"

namespace holdfast::core {
namespace {

constexpr Millis seventy_percent(Millis ttl) { return ttl / 10 * 7 + ttl % 10 * 7 / 10; }

}  // namespace

Belief::Belief(KeepPlan plan, Instant sent, Millis remaining) : plan_(plan) {
  believe(sent, granted_life(plan_.ttl, remaining));
}

void Belief::believe(Instant sent, Millis life) {
  end_ = std::max(end_, clamped_add(sent, life));
  deadline_ = std::max(deadline_, deadline_of(sent, life, margin_of(life, plan_.margin, plan_.resolution)));
  failures_ = 0;
  const bool enough = plan_.max_renewals && renewals_ >= *plan_.max_renewals;
  renew_at_ = plan_.keep && !enough ? next_renewal(sent, life) : Instant::max();
  jeopardy_at_ = deadline_;
  if (plan_.ttl == never || deadline_ == Instant::max()) return;
  // Counted back from the deadline, not from `sent`: a lease that was extended lasts longer than a ttl.
  const Millis margin = margin_of(plan_.ttl, plan_.margin, plan_.resolution);
  jeopardy_at_ = std::min(deadline_ + margin - plan_.ttl / 3, deadline_);
  // A lease that is renewed late is not in jeopardy before that renewal could have failed.
  if (renew_at_ > jeopardy_at_ && renew_at_ < deadline_)
    jeopardy_at_ = renew_at_ + (deadline_ - renew_at_) / 2;
}

// Also a lease whose end is far away is renewed every ttl/3: only the reply shows that it was broken or taken
// over.
Instant Belief::next_renewal(Instant sent, Millis life) const {
  if (plan_.ttl == never) return Instant::max();
  const Instant end = clamped_add(sent, granted_life(plan_.ttl, life));
  Instant wanted = Instant::max();
  if (plan_.renew_every > Millis::zero())
    wanted = sent + plan_.renew_every;
  else if (plan_.late)
    wanted = end - (plan_.ttl - seventy_percent(plan_.ttl));
  // A ttl that was changed by hand may be too short for `wanted`.
  return wanted < deadline_ ? wanted : end - (plan_.ttl - plan_.ttl / 3);
}

Instant Belief::renew_by() const noexcept {
  if (plan_.ttl == never || renew_at_ == Instant::max()) return deadline_;
  return std::min(deadline_, clamped_add(renew_at_, plan_.ttl - plan_.ttl / 3));
}

bool Belief::renewed(Instant sent, Millis remaining, Instant now, bool by_hand) {
  if (now >= deadline_) return false;
  if (!by_hand) ++renewals_;
  believe(sent, granted_life(plan_.ttl, remaining));
  return true;
}

bool Belief::extended(Millis more, Instant sent, Millis remaining, Instant now) {
  if (now >= deadline_) return false;
  const Millis asked = std::chrono::floor<Millis>(clamped_add(end_, more) - sent);
  believe(sent, granted_life(asked, remaining));
  return true;
}

void Belief::failed(Instant now, double jitter) {
  if (renew_at_ == Instant::max()) return;  // stop_renewing() was called while this renewal was in flight
  const Millis first = std::clamp(plan_.ttl / 40, Millis(1), Millis(50));
  const Millis longest = std::max(plan_.ttl / 10, Millis(1));
  const Millis pause = scaled(backoff(first, longest, failures_++), 0.5 + 0.5 * jitter);
  // The pauses get shorter again towards the deadline, so that a store that answers in the last moment is
  // asked. A renewal after the deadline is not wanted, and must not keep other leases waiting.
  renew_at_ =
      std::min(clamped_add(now, pause), std::max(clamped_add(now, first), now + (deadline_ - now) / 2));
  if (renew_at_ >= deadline_) renew_at_ = Instant::max();
}

void Belief::stop_renewing() noexcept {
  plan_.keep = false;
  renew_at_ = Instant::max();
}

}  // namespace holdfast::core
