// SPDX-License-Identifier: Apache-2.0
// acquiring.h - acquiring a key: when to try, when to sleep, when to give up; and the order of several
// waiters.
#pragma once
#include <algorithm>
#include <deque>
#include <optional>
#include <variant>

#include "holdfast/options.h"
#include "holdfast/result.h"
#include "holdfast/spi/store.h"

namespace holdfast::core {

// The longest time for which a client asks to keep a place.  Near the front of the queue it asks for `place`.
constexpr Millis longest_place(Millis place) noexcept { return place * 3; }

// The options of the call, and what the store supports.
struct AcquirePlan {
  Millis ttl{};
  Millis margin{};
  Millis wait{};           // zero: one attempt; `forever`
  int attempts = 0;        // zero: no limit
  Interval interval = {};  // if it or `attempts` is set: follow that schedule, keep no place
  bool fair = true;
  Millis place{};     // how long the store keeps a place near the front of the queue without a refresh
  bool push = false;  // the store can notify
};

// Decides, and does nothing itself.  Its driver calls next(), does what that returns, and reports the result.
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
//   asleep    | time, or notified    | ready
//   any       | stop, wait is over   | done, give back what may have been granted, leave the queue
class Acquiring {
 public:
  struct Send {
    Instant until;  // the reply must arrive by then
    Millis place;   // if busy, keep our place so long; zero: keep none, or the place lasts long enough
  };
  struct Sleep {
    Instant until;  // or until a notification
  };
  struct Done {
    std::optional<Errc> failed;  // none: granted
    // Send a release: we are in the queue, or may have been granted a lease that we do not take.
    bool tidy = false;
    // An acquire got no reply and may still reach the store until this moment.  So one more release must
    // follow after it: at once if nothing was granted, else after the lease is released.
    std::optional<Instant> tidy_again = {};
  };
  using Step = std::variant<Send, Sleep, Done>;

  Acquiring(AcquirePlan plan, Instant start);

  // `jitter` is a number in [0, 1), new for each call.
  Step next(Instant now, double jitter);

  // The result of the last Send that next() returned.  `sent` was read before its first byte.
  void answered(Instant sent, Instant now, const Reply& reply);
  void failed(Instant now, const Error& error);

  void ready();  // the key may have become free
  void stop();   // the caller no longer wants the key

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
  Millis poll_pause(double jitter) const;

  const AcquirePlan plan_;
  const Instant give_up_;  // the end of the caller's wait
  const Instant horizon_;  // the end of every call: give_up_, or the end of one attempt if that is later
  State state_ = State::ready;
  Step done_ = Done{};
  Instant asleep_until_{};
  std::optional<Instant> sleep_from_;  // busy: next() decides how long, with its jitter
  int attempts_ = 0;
  int failures_ = 0;              // in a row
  int polls_ = 0;                 // since the last notification
  std::optional<Place> placed_;   // the store keeps it for us
  std::optional<Place> placing_;  // a Send in flight asks the store to keep it
  bool checked_ = false;          // sent once more after our place was kept
  bool queued_ = false;           // the store may keep a place for us
  bool stopped_ = false;
  std::optional<Instant> in_flight_until_;  // of the Send without a reply yet
  std::optional<Instant> unclear_until_;    // of the last Send in doubt
  Errc last_failure_ = Errc::busy;
  Reply last_{};
};

// The waiters of one client for one key, in order.  At the store they are one waiter: the first of them uses
// the client's place in the store's queue, and the others wait for their turn here.
template <class Waiter>
class Gate {
 public:
  // True: the waiter is first and may send requests to the store.
  bool enter(Waiter waiter) {
    waiting_.push_back(waiter);
    return waiting_.size() == 1;
  }

  // Returns the new first waiter if the one that leaves was first.
  std::optional<Waiter> leave(Waiter waiter) {
    const bool was_first = first(waiter);
    std::erase(waiting_, waiter);
    if (!was_first || waiting_.empty()) return std::nullopt;
    return waiting_.front();
  }

  bool first(Waiter waiter) const { return !waiting_.empty() && waiting_.front() == waiter; }
  bool empty() const { return waiting_.empty(); }
  std::size_t size() const { return waiting_.size(); }
  std::optional<Waiter> front() const {
    return waiting_.empty() ? std::optional<Waiter>{} : std::optional<Waiter>{waiting_.front()};
  }

 private:
  std::deque<Waiter> waiting_;
};

}  // namespace holdfast::core
