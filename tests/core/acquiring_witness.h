// SPDX-License-Identifier: Apache-2.0
// acquiring_witness.h - watches one acquire from outside, and reports which promise it breaks.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "core/acquiring.h"
#include "core/timing.h"
#include "tests/core/moments.h"

namespace holdfast::core {

// What can happen next: an answer to a Send, or something during a Sleep.
enum class Event {
  granted,        // in time
  granted_late,   // with less than half its life left
  busy_soon,      // held by one of us, for 40 ms more
  busy_long,      // held by one of us, for an hour
  busy_stranger,  // held without end by somebody who never rings
  unavailable,
  in_doubt,         // at once
  in_doubt_slowly,  // after all the time it was given
  refused,
  slept,  // until the moment, or later
  woken,  // halfway, for no reason
  ready,
  stop_and_busy,  // the caller asks to stop while the answer is on its way
  stop_and_grant,
  stop,  // the caller asks to stop while we sleep
};

const char* name(Event event);
bool is_busy(Event event);
Reply busy_reply(Event event);

// Each function returns what is wrong, or an empty text.
class Witness {
 public:
  explicit Witness(const AcquirePlan& plan) : plan_(&plan) {}

  std::string sees(const Acquiring::Step& step, Instant now, int attempts);
  void hears(Event event, Instant now);

 private:
  bool scheduled() const { return plan_->attempts > 0 || plan_->interval; }
  bool waits() const { return plan_->wait > 0ms || plan_->attempts > 1; }
  bool queues() const { return plan_->fair && !scheduled() && plan_->wait > 0ms; }
  Instant give_up() const {
    return plan_->wait == 0ms && plan_->attempts > 0 ? Instant::max() : clamped_add(start, plan_->wait);
  }
  Instant horizon() const { return std::max(give_up(), clamped_add(start, attempt_limit(plan_->ttl))); }
  bool last_was(Event event) const { return last_ == event; }
  bool last_was_busy() const { return last_ && is_busy(*last_); }

  std::string sees_send(const Acquiring::Send& send, Instant now) const;
  std::string sees_sleep(const Acquiring::Sleep& sleep, Instant now) const;
  std::string sees_sleep_behind_a_holder(Millis length) const;
  std::string sees_done(const Acquiring::Done& done, Instant now) const;
  std::string sees_end_of_patience(Errc code, Instant now) const;
  std::string sees_tidying(const Acquiring::Done& done) const;

  const AcquirePlan* plan_;
  std::optional<Event> last_;  // answer or failure; what happens in a sleep does not count
  Instant heard_{};            // when
  int sends_ = 0;
  int busies_ = 0;
  int sends_since_first_busy_ = 0;
  bool stopped_ = false;
  std::optional<Instant> asleep_until_;  // of a Sleep that has not ended
  Instant until_{};                      // of the last Send
  std::optional<Instant> placing_;       // when it asked for a place
  std::optional<Instant> placed_;        // and of the last such that was answered
  std::optional<Instant> unclear_until_;
};

}  // namespace holdfast::core
