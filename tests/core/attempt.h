// SPDX-License-Identifier: Apache-2.0
// attempt.h - an Acquiring driven by hand, step by step, in virtual time.
#pragma once
#include <gtest/gtest.h>

#include "core/acquiring.h"
#include "core/timing.h"
#include "tests/core/moments.h"

namespace holdfast::core {

inline constexpr const char* one_of_us = "host:h pid:1 guid:0123456789abcdef0123456789abcdef";
inline const Reply granted{.verdict = Verdict::granted, .token = Token{8}, .remaining = Millis(never)};
inline const Reply busy{.verdict = Verdict::busy, .token = Token{7}, .owner = one_of_us, .remaining = 1h};
inline const AcquirePlan forever_plan{.wait = Millis(forever), .push = true};

// An acquire that a test drives by hand.  ttl 30 s: an attempt gets 2 s; places are kept for 3 s.
class ManualAcquire {
 public:
  explicit ManualAcquire(AcquirePlan plan) : acquiring_(filled(std::move(plan)), start) {}

  Acquiring::Step next() { return acquiring_.next(now_, jitter_); }
  Acquiring::Send send() { return expect<Acquiring::Send>("Send"); }
  Acquiring::Sleep sleep() { return expect<Acquiring::Sleep>("Sleep"); }
  Acquiring::Done done() { return expect<Acquiring::Done>("Done"); }

  // Sends, and is answered so much later.
  ManualAcquire& answered(const Reply& reply, Millis later = 1ms) { return send(), replied(reply, later); }
  // To what has been sent.
  ManualAcquire& replied(const Reply& reply, Millis later) {
    const Instant sent = now_;
    now_ += later;
    acquiring_.answered(sent, now_, reply);
    return *this;
  }
  ManualAcquire& failed(Errc code, Millis later = 1ms) {
    until_ = send().until;
    now_ += later;
    acquiring_.failed(now_, {code, "told so"});
    return *this;
  }
  ManualAcquire& passes(Millis time) { return now_ += time, *this; }
  ManualAcquire& sleeps() { return now_ = sleep().until, *this; }
  ManualAcquire& ready() { return acquiring_.ready(), *this; }
  ManualAcquire& stopped() { return acquiring_.stop(), *this; }
  ManualAcquire& with_jitter(double jitter) { return jitter_ = jitter, *this; }

  Millis::rep sleeps_for() { return ms(sleep().until - now_); }
  Instant now() const { return now_; }
  Instant until() const { return until_; }  // of the last Send that failed
  const Acquiring& acquiring() const { return acquiring_; }

 private:
  static AcquirePlan filled(AcquirePlan plan) {
    if (plan.ttl == 0ms) plan.ttl = 30s;
    if (plan.place == 0ms) plan.place = 3s;
    plan.margin = margin_of(plan.ttl, {}, 0ms);
    return plan;
  }
  template <class Kind>
  Kind expect(const char* name) {
    const auto step = next();
    const auto* kind = std::get_if<Kind>(&step);
    EXPECT_NE(kind, nullptr) << "expected a " << name << " at " << ms(now_) << " ms";
    return kind ? *kind : Kind{};
  }

  Acquiring acquiring_;
  Instant now_ = start, until_{};
  double jitter_ = 0.5;
};

// Gives back what may have been granted and leaves the queue; once more after `again`, if that is given.
inline void expect_tidied(const Acquiring::Done& done, std::optional<Instant> again = {}) {
  EXPECT_TRUE(done.tidy);
  EXPECT_EQ(done.tidy_again.has_value(), again.has_value());
  if (done.tidy_again && again) {
    EXPECT_GE(ms(*done.tidy_again), ms(*again));
  }
}

}  // namespace holdfast::core
