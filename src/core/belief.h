// SPDX-License-Identifier: Apache-2.0
// belief.h - one lease as its holder sees it: until when it is held, and when to renew it.
#pragma once
#include <optional>

#include "holdfast/clock.h"

namespace holdfast::core {

// How a lease is kept.
struct KeepPlan {
  Millis ttl{};
  bool keep = true;       // false: it is never renewed
  Millis renew_every{0};  // zero, or too long for the deadline: ttl/3
  bool late = false;      // without renew_every: at 70 % of the ttl
  std::optional<int> max_renewals = {};
  std::optional<Millis> margin = {};
  Millis resolution{0};
};

//   sent       + ttl/3        + 2/3 ttl     + ttl - margin
//   |--------------|---------------|--------------|
//   granted     renew,          jeopardy        lost: final
//               retried until it succeeds
class Belief {
 public:
  // `remaining` is the time that the store said is left.  We count it from `sent`, which is safe, and never
  // believe in more than we asked for, because the store's clock may have been set back.
  Belief(KeepPlan plan, Instant sent, Millis remaining);

  Instant deadline() const noexcept { return deadline_; }
  Millis ttl() const noexcept { return plan_.ttl; }
  // A renewal may be sent this much before its time, to travel in the same batch as others.
  Millis early() const noexcept {
    return (plan_.renew_every > Millis::zero() ? plan_.renew_every : plan_.ttl) / 10;
  }

  // When to send the next renewal; Instant::max() if none is wanted.
  Instant renew_at() const noexcept { return renew_at_; }
  Instant jeopardy_at() const noexcept { return jeopardy_at_; }
  // The latest useful moment for the next renewal: the deadline, or earlier, so that the holder notices in
  // the promised time that its lease was broken.
  Instant renew_by() const noexcept;
  // Whether the last renewal got no reply.
  bool failing() const noexcept { return failures_ > 0; }

  // A renewal that was sent at `sent` was granted.  False: the deadline had passed, and a loss is final.
  // A renewal by hand does not count towards `max_renewals`.
  bool renewed(Instant sent, Millis remaining, Instant now, bool by_hand = false);
  // The same for a renewal that asked for `more` time in addition to the time left.
  bool extended(Millis more, Instant sent, Millis remaining, Instant now);

  // A renewal got no reply, which is not a loss.  It is retried with growing pauses until the deadline.
  void failed(Instant now, double jitter);

  // Sets the ttl of all further renewals.
  void set_ttl(Millis ttl) noexcept { plan_.ttl = ttl; }

  // The lease is renewed no more and ends at its deadline.
  void stop_renewing() noexcept;

 private:
  void believe(Instant sent, Millis life);
  Instant next_renewal(Instant sent, Millis life) const;

  KeepPlan plan_;
  Instant end_ = Instant::min();  // the end that we asked for, before the margin is subtracted
  Instant deadline_ = Instant::min();
  Instant renew_at_{}, jeopardy_at_{};
  int failures_ = 0;
  int renewals_ = 0;
};

}  // namespace holdfast::core
