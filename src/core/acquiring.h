// SPDX-License-Identifier: Apache-2.0
// acquiring.h - one wish for a key: when to try, when to sleep, when to give up.
#pragma once
#include <optional>
#include <variant>

#include "holdfast/options.h"
#include "holdfast/result.h"
#include "holdfast/spi/store.h"

namespace holdfast::core {

// A place is kept for `place`, or further behind for so long.
constexpr Millis longest_place(Millis place) noexcept { return place * 3; }

// What was asked for, and what the store can do.
struct AcquirePlan {
  Millis ttl{};
  Millis margin{};
  Millis wait{};           // zero: one attempt; `forever`
  int attempts = 0;        // zero: no limit
  Interval interval = {};  // with it or with `attempts`: follow that schedule, keep no place
  bool fair = true;
  Millis place{};     // how long a place near the front of the queue is kept without word from us
  bool push = false;  // the store can notify
};

// Decides; does nothing itself.  Whoever drives it asks next() what to do, does it, and reports.
//
//   state     | event                | becomes
//   ----------+----------------------+---------------------------------------------------------
//   ready     | next(): Send         | sent
//   sent      | granted, in time     | done: granted
//   sent      | granted, late        | done: too_late, give back
//   sent      | busy                 | done: busy if no wait; else ready once more (subscribe, then
//             |                      | check), then asleep
//   sent      | failed, not applied  | done if no wait; else asleep with growing pauses
//   sent      | failed, in doubt     | ready: the same request again, then asleep with growing pauses
//   sent      | refused, invalid     | done
//   asleep    | time, or rung        | ready
//   any       | stop, wait is over   | done, give back what may have been granted, leave the queue
class Acquiring {
 public:
  struct Send {
    Instant until;  // the answer must be here by then
    Millis place;   // keep our place so long if busy; zero: we have none, or it is kept long enough
  };
  struct Sleep {
    Instant until;  // or until a notification
  };
  struct Done {
    std::optional<Errc> failed;  // none: granted
    // Send a release: we are in the queue, or may have been granted what we do not take.
    bool tidy = false;
    // An acquire got no answer, and may reach the store until then: give back once more after it, what was
    // not granted as well as, when the time comes to release it, what was.
    std::optional<Instant> tidy_again = {};
  };
  using Step = std::variant<Send, Sleep, Done>;

  Acquiring(AcquirePlan plan, Instant start);

  // `jitter` is a number in [0, 1), new for each call.
  Step next(Instant now, double jitter);

  // What became of the Send that next() returned last.  `sent` was read before its first byte.
  void answered(Instant sent, Instant now, const Reply& reply);
  void failed(Instant now, const Error& error);

  void ready();  // the key may have become free
  void stop();   // the caller does not want it any more

  int attempts() const noexcept { return attempts_; }
  // The last busy answer, for the error text.
  const Reply& last() const noexcept { return last_; }

 private:
  enum class State { ready, sent, asleep, done };
  struct Place {
    Instant since;
    Millis life;
  };

  bool scheduled() const { return plan_.attempts > 0 || static_cast<bool>(plan_.interval); }
  bool queues() const { return plan_.fair && !scheduled() && plan_.wait > Millis::zero(); }
  bool waits() const { return plan_.wait > Millis::zero() || plan_.attempts > 1; }
  bool place_is_due(Instant now) const;
  Millis place_to_ask_for() const;
  void busy(Instant now);
  void pause(Instant now, Millis length);
  void pause_by_schedule(Instant now, Errc if_over);
  void finish(std::optional<Errc> failed);
  Millis until_worth_looking(double jitter) const;

  const AcquirePlan plan_;
  const Instant give_up_;  // by then the caller wants to be told
  const Instant
      horizon_;  // by then every call is over: the end of the wait or of one attempt, whichever is later
  State state_ = State::ready;
  Step done_ = Done{};
  Instant asleep_until_{};
  std::optional<Instant> sleep_from_;  // busy: how long is decided with the next jitter
  int attempts_ = 0;
  int failures_ = 0;              // in a row
  int polls_ = 0;                 // since the key last gave a sign of life
  std::optional<Place> placed_;   // the store keeps it for us
  std::optional<Place> placing_;  // it is asked to: a Send that says so is on its way
  bool checked_ = false;          // looked again after our place was kept
  bool queued_ = false;           // the store may keep a place for us
  bool stopped_ = false;
  std::optional<Instant> in_flight_until_;  // of the Send not yet answered
  std::optional<Instant> unclear_until_;    // of the last Send in doubt
  Errc last_failure_ = Errc::busy;
  Reply last_{};
};

}  // namespace holdfast::core
