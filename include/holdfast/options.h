// SPDX-License-Identifier: Apache-2.0
// options.h - what can be asked for, each with its default.
#pragma once
#include <concepts>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>

#include "holdfast/clock.h"

namespace holdfast {

// How long to sleep between two attempts: a fixed time, or a function of the number of the attempt that
// just failed, counted from 1.
class Interval {
 public:
  Interval() = default;
  template <class Rep, class Period>
  Interval(std::chrono::duration<Rep, Period> fixed)  // NOLINT: implicit on purpose
      : of_([d = std::chrono::ceil<Millis>(fixed)](int) { return d; }) {}
  template <class F>
  requires std::is_invocable_r_v<Millis, F, int> Interval(F of) : of_(std::move(of)) {}  // NOLINT

  explicit operator bool() const noexcept { return static_cast<bool>(of_); }
  Millis operator()(int attempt) const { return of_(attempt); }

 private:
  std::function<Millis(int)> of_;
};

struct AcquireOptions {
  // How long the store keeps the lease when it hears nothing from us.  `never`: until released.
  Millis ttl{std::chrono::seconds(30)};

  // How long to wait for a busy key.  Zero: do not wait.  `forever`: do.
  Millis wait{0};

  // Stops the wait, not the lease.
  std::stop_token stop = {};

  // Who holds it.  Empty: a name that is new for each acquisition.  Everyone who gives the same name is
  // the same holder, and acquires again what it has.
  std::string owner = {};

  // Shown to people beside the key.
  std::string note = {};

  // -- waiting by a schedule instead of in the queue: if one of these is given, nothing wakes us early

  // At most so many acquires are sent.  Zero: no limit.
  int attempts = 0;

  // Sleep so long between them.  With `attempts` alone: 100 ms.
  Interval interval = {};

  // Wait in order.  False: keep no place in the queue, and look now and then whether nobody waits.
  bool fair = true;

  // -- keeping

  // Renew the lease as long as this process lives.  False: it runs out after ttl.
  bool keep = true;

  // Renew so often.  Zero: every ttl/3.
  Millis renew_every{0};

  // Stop renewing after so many times; the lease then runs out.
  std::optional<int> max_renewals = {};

  // Asked before each renewal, on the keeper's thread: true (or an exception) ends the renewing.
  std::function<bool()> finished = {};

  // The lease outlives this process on purpose: nobody renews it, its destructor does not release it.
  bool detached = false;
};

struct ClientOptions {
  // We stop believing in a lease so long before the store may give it away: room for clocks that run at
  // different rates.  Not set: the larger of 5 ms and 1 % of the ttl.
  std::optional<Millis> margin = {};

  // A place in a queue is kept so long without word from us; it is refreshed three times as often.
  Millis place{std::chrono::seconds(3)};

  // At most so many requests travel together.
  std::size_t batch_limit = 512;

  // Where the store does not do it itself, the keeper takes away so often what has been free for a day.  The
  // first time is drawn, so that clients that live shortly do their share.  `never`: it does not.
  Millis purge_every{std::chrono::hours(1)};

  // Told what a person should know: a store set up unsafely, slow callbacks, renewals that fail.  One line,
  // no secrets.  Called on any thread.
  std::function<void(std::string_view)> log = {};
};

}  // namespace holdfast
