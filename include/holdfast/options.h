// SPDX-License-Identifier: Apache-2.0
// options.h - what can be asked for, each with its default.
#pragma once
#include <compare>
#include <concepts>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "holdfast/clock.h"
#include "holdfast/export.h"

namespace holdfast {

struct Finding;  // rows.h

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

// How long a lease lasts without a renewal: a duration, or `never`.
class Ttl {
 public:
  template <class Rep, class Period>
  requires std::convertible_to<std::chrono::duration<Rep, Period>, Millis>
  constexpr Ttl(std::chrono::duration<Rep, Period> length) noexcept
      : length_(length) {}                           // NOLINT: implicit on purpose
  constexpr Ttl(Never) noexcept : length_(never) {}  // NOLINT
  constexpr Ttl(Forever) = delete;
  constexpr operator Millis() const noexcept { return length_; }  // NOLINT
  friend constexpr auto operator<=>(Ttl, Ttl) = default;
  friend constexpr bool operator==(Ttl, Ttl) = default;
  friend constexpr bool operator==(Ttl ttl, Never) noexcept { return ttl.length_ == never; }

 private:
  Millis length_;
};

// How long to wait: a duration, or `forever`.
class Wait {
 public:
  template <class Rep, class Period>
  requires std::convertible_to<std::chrono::duration<Rep, Period>, Millis>
  constexpr Wait(std::chrono::duration<Rep, Period> length) noexcept
      : length_(length) {}                                // NOLINT: implicit on purpose
  constexpr Wait(Forever) noexcept : length_(forever) {}  // NOLINT
  constexpr Wait(Never) = delete;
  constexpr operator Millis() const noexcept { return length_; }  // NOLINT
  friend constexpr auto operator<=>(Wait, Wait) = default;
  friend constexpr bool operator==(Wait, Wait) = default;
  friend constexpr bool operator==(Wait wait, Forever) noexcept { return wait.length_ == forever; }

 private:
  Millis length_;
};

// Who holds: a text, a list of texts that is joined by ":", or a function that is asked at each acquisition.
class HOLDFAST_API Owner {
 public:
  Owner() = default;  // a name that is new for each acquisition
  Owner(std::nullptr_t) = delete;
  template <class Text>
  requires std::convertible_to<Text, std::string_view> Owner(const Text& text)  // NOLINT: implicit on purpose
      : name_([name = copy(text)] { return name; }) {}
  Owner(std::initializer_list<std::string_view> list)  // NOLINT
      : Owner(std::span(list.begin(), list.size())) {}
  Owner(const std::vector<std::string>& list)  // NOLINT
      : Owner(std::span<const std::string_view>(std::vector<std::string_view>(list.begin(), list.end()))) {}
  template <class F>
  requires std::convertible_to<std::invoke_result_t<F>, std::string_view> Owner(F name)  // NOLINT
      : name_([name = std::move(name)] { return std::string(std::string_view(name())); }) {}

  explicit operator bool() const noexcept { return static_cast<bool>(name_); }
  std::string operator()() const { return name_(); }

 private:
  explicit Owner(std::span<const std::string_view> list);
  template <class Text>
  static std::string copy(const Text& text) {
    if constexpr (std::is_pointer_v<Text>) {
      if (text == nullptr) return {};  // and is refused, as every empty name is
    }
    return std::string(std::string_view(text));
  }
  std::function<std::string()> name_;
};

// What is not said here is as ClientOptions::defaults says; what that does not say either, as stands here.
struct AcquireOptions {
  // How long the store keeps the lease when it hears nothing from us: 30 s.  `never`: until released.
  std::optional<Ttl> ttl = {};

  // How long to wait for a busy key.  Zero: do not wait, which is the default (a call that says so is
  // not bound by `attempts` of the client's defaults either).  `forever`: do.
  std::optional<Wait> wait = {};

  // Stops the wait, not the lease.
  std::stop_token stop = {};

  // Who holds it: a name that is new for each acquisition.  Everyone who gives the same name is the same
  // holder, and acquires again what it has.  "host:H pid:P guid:G" is refused: that form tells people of a
  // process.
  Owner owner = {};

  // Shown to people beside the key.
  std::string note = {};

  // -- waiting by a schedule instead of in the queue: if one of these is given, nothing wakes us early

  // At most so many acquires are sent.  Zero: no limit, which is the default.
  std::optional<int> attempts = {};

  // Sleep so long between them.  With `attempts` alone: 100 ms.
  Interval interval = {};

  // Wait in order: true.  False: keep no place in the queue, and look now and then whether nobody waits.
  std::optional<bool> fair = {};

  // -- keeping

  // Renew the lease as long as this process lives: true.  False: it runs out after ttl.
  std::optional<bool> keep = {};

  // Renew so often: every ttl/3, or with `finished` at 70 % of the ttl.  Zero means that too.
  std::optional<Millis> renew_every = {};

  // Stop renewing after so many times; the lease then runs out.  With `finished`: 10, else there is no limit.
  std::optional<int> max_renewals = {};

  // Asked before each renewal, on the keeper's thread: true (or an exception) ends the renewing.  Not any
  // more once the lease has been released or destroyed, which waits up to 10 s for it.
  std::function<bool()> finished = {};

  // The lease outlives this process on purpose: nobody renews it, its destructor does not release it.
  std::optional<bool> detached = {};
};

enum class Connect : std::uint8_t {
  at_once,  // opening a client fails if its store cannot be used
  lazy,     // opening a client sends nothing; the first call that needs the store says what is wrong with it
};

struct ClientOptions {
  // Lazy: a service can start while its store is down.  Until the store has been opened, each call tries,
  // within connect_wait.
  Connect connect = Connect::at_once;

  // Creates the tables that are missing, as Admin::init() does.
  bool init = false;

  // For all acquisitions of this client, and of those that come from it by in().  Locks of jobs do not ask
  // for them.
  AcquireOptions defaults = {};

  // Opening the store takes no longer, whatever its server does: finding it, connecting, and reading how it
  // is set up.  Then it fails with Errc::unavailable.
  Millis connect_wait{std::chrono::seconds(5)};

  // We stop believing in a lease so long before the store may give it away: room for clocks that run at
  // different rates.  Not set: the larger of 5 ms and 1 % of the ttl.
  std::optional<Millis> margin = {};

  // A place in a queue is kept so long without word from us, and is refreshed three times as often.  Behind
  // more than three others it is kept, and left alone, three times as long.  So a waiter that has died delays
  // those behind it for three times as long at the most, also if the store's clock was set back meanwhile: a
  // place that ends later than that does not count for us.  Therefore give all clients of a store the same
  // value: one with a shorter place may pass one whose place is more than three times as long.
  Millis place{std::chrono::seconds(1)};

  // At most so many requests travel together.
  std::size_t batch_limit = 512;

  // Where the store does not do it itself, the keeper takes away so often what has been free for a day.  The
  // first time is drawn, so that clients that live shortly do their share.  `never`: it does not.
  Millis purge_every{std::chrono::hours(1)};

  // Told what a person should know: a store set up unsafely, slow callbacks, renewals that fail.  One line,
  // no secrets.  Called on any thread.
  std::function<void(std::string_view)> log = {};

  // Told in place of `log` what was found about the store while it was opened, each with the line that `log`
  // would have been told.  Called by whoever opens it.
  std::function<void(const Finding&, std::string_view line)> on_finding = {};
};

}  // namespace holdfast
