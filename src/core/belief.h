// SPDX-License-Identifier: Apache-2.0
// belief.h - one lease as its holder sees it: until when, and what to do about it next.
#pragma once
#include <optional>

#include "holdfast/clock.h"

namespace holdfast::core {

// How a lease is to be kept.
struct KeepPlan {
  Millis ttl{};
  bool keep = true;       // false: nobody renews it
  Millis renew_every{0};  // zero, or so much that the deadline would pass: ttl/3
  bool late = false;      // without renew_every: at 70 % of the ttl
  std::optional<int> max_renewals = {};
  std::optional<Millis> margin = {};
  Millis resolution{0};
};

//   sent       + ttl/3        + 2/3 ttl     + ttl - margin
//   |--------------|---------------|--------------|
//   granted     renew,          jeopardy        lost: final
//               and again until it works
class Belief {
 public:
  // `remaining`: how long the store said the lease lasts, counted from `sent` on the safe side.  Whatever it
  // says, we believe in no more than we asked for: its clock may have been set back.
  Belief(KeepPlan plan, Instant sent, Millis remaining);

  Instant deadline() const noexcept { return deadline_; }
  Millis ttl() const noexcept { return plan_.ttl; }
  // So much before its time a renewal costs nothing.
  Millis early() const noexcept {
    return (plan_.renew_every > Millis::zero() ? plan_.renew_every : plan_.ttl) / 10;
  }

  // When to send the next renewal; the end of time if none is wanted.
  Instant renew_at() const noexcept { return renew_at_; }
  Instant jeopardy_at() const noexcept { return jeopardy_at_; }
  // Later it is of no use, or so late that a break goes unnoticed for longer than promised.
  Instant renew_by() const noexcept;
  // Its last renewal got no answer.
  bool failing() const noexcept { return failures_ > 0; }

  // A renewal sent then was granted.  False: too late, the deadline had passed; lost is final.
  // By hand it does not count as one of `max_renewals`.
  bool renewed(Instant sent, Millis remaining, Instant now, bool by_hand = false);
  // The same for one that asked for `more` than was left.
  bool extended(Millis more, Instant sent, Millis remaining, Instant now);

  // A renewal got no answer: that is not a loss.  Tries again, with growing pauses, until the deadline.
  void failed(Instant now, double jitter);

  // From now on that is the ttl of each renewal.
  void set_ttl(Millis ttl) noexcept { plan_.ttl = ttl; }

  // Nobody renews it any more; it runs out at its deadline.
  void stop_renewing() noexcept;

 private:
  void believe(Instant sent, Millis life);
  Instant next_renewal(Instant sent, Millis life) const;

  KeepPlan plan_;
  Instant end_ = Instant::min();  // of what we asked for; the margin is not taken off
  Instant deadline_ = Instant::min();
  Instant renew_at_{}, jeopardy_at_{};
  int failures_ = 0;
  int renewals_ = 0;
};

}  // namespace holdfast::core
