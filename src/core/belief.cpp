// SPDX-License-Identifier: Apache-2.0
#include "core/belief.h"

#include <algorithm>

#include "core/deadline.h"
#include "core/pause.h"

namespace holdfast::core {
namespace {

constexpr Millis seventy_percent(Millis ttl) { return ttl / 10 * 7 + ttl % 10 * 7 / 10; }

}  // namespace

Belief::Belief(KeepPlan plan, Instant sent, Millis life) : plan_(plan) { believe(sent, life); }

void Belief::believe(Instant sent, Millis life) {
  const Instant deadline = deadline_of(sent, life, margin_of(life, plan_.margin, plan_.resolution));
  deadline_ = std::max(deadline_, deadline);
  failures_ = 0;
  if (deadline_ == Instant::max()) {
    renew_at_ = jeopardy_at_ = Instant::max();
    return;
  }
  // Counted back from the end, so that a lease that was extended far is not renewed before its time; and
  // from the end we believe in, which for a long life is earlier by more than a ttl.
  const Instant end = deadline + margin_of(plan_.ttl, plan_.margin, plan_.resolution);
  jeopardy_at_ = std::min(end - plan_.ttl / 3, deadline_);
  const bool enough = plan_.max_renewals && renewals_ >= *plan_.max_renewals;
  if (!plan_.keep || enough)
    renew_at_ = Instant::max();
  else
    renew_at_ = next_renewal(sent, end);
  // Who wants to be renewed late is not in jeopardy before that could have failed.
  if (renew_at_ != Instant::max() && renew_at_ > jeopardy_at_ && renew_at_ < deadline_)
    jeopardy_at_ = renew_at_ + (deadline_ - renew_at_) / 2;
}

Instant Belief::next_renewal(Instant sent, Instant end) const {
  Instant wanted = Instant::max();
  if (plan_.renew_every > Millis::zero())
    wanted = sent + plan_.renew_every;
  else if (plan_.late)
    wanted = end - (plan_.ttl - seventy_percent(plan_.ttl));
  // A ttl that was changed by hand may be too short for what was wanted.
  return wanted < deadline_ ? wanted : end - (plan_.ttl - plan_.ttl / 3);
}

bool Belief::renewed(Instant sent, Millis life, Instant now, bool by_hand) {
  if (now >= deadline_) return false;
  if (!by_hand) ++renewals_;
  believe(sent, life);
  return true;
}

void Belief::failed(Instant now, double jitter) {
  if (renew_at_ == Instant::max()) return;  // the renewing ended while this one was on its way
  const Millis first = std::clamp(plan_.ttl / 40, Millis(1), Millis(50));
  const Millis longest = std::max(plan_.ttl / 10, Millis(1));
  renew_at_ = now + scaled(growing(first, longest, failures_++), 0.5 + 0.5 * jitter);
}

void Belief::stop_renewing() noexcept {
  plan_.keep = false;
  renew_at_ = Instant::max();
}

}  // namespace holdfast::core
