// SPDX-License-Identifier: Apache-2.0
// options.h - the options of clients and acquisitions, each with its default.
#pragma once
#include <concepts>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "holdfast/clock.h"
#include "holdfast/export.h"
#include "holdfast/observer.h"

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

// The name of an owner: a text, a list of texts that is joined by ":", or a function that is called at each
// acquisition.
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
      if (text == nullptr) return {};  // refused like every empty name
    }
    return std::string(std::string_view(text));
  }
  std::function<std::string()> name_;
};

// Unset fields fall back to ClientOptions::defaults, then to the default named here.
struct AcquireOptions {
  // How long the store keeps the lease without a renewal.  Default: 30 s.  `never`: until it is released.
  std::optional<Ttl> ttl = {};

  // How long to wait for a busy key.  Default: zero, do not wait.  `wait = 0` also switches off `attempts` of
  // the client's defaults.
  std::optional<Wait> wait = {};

  // Ends the wait.  It does not end the lease.
  std::stop_token stop = {};

  // The name that the lease is held by.  Default: a name that is new for each acquisition.  Everyone who
  // gives the same name is the same owner, and acquires again what it has.  The form "host:H pid:P guid:G" is
  // refused: it is reserved for the default names.
  Owner owner = {};

  // A text for people, shown beside the key.
  std::string note = {};

  // -- waiting by a schedule instead of in the queue: with `attempts` or `interval` no notification ends a
  // sleep

  // Send at most this many acquires.  Default: zero, no limit.
  std::optional<int> attempts = {};

  // Sleep this long between two acquires.  With `attempts` alone: 100 ms.
  Interval interval = {};

  // -- waiting in the queue

  // Default: true, wait in order.  False: keep no place in the queue, and poll until nobody else waits.
  std::optional<bool> fair = {};

  // -- keeping

  // Default: true, the client renews the lease as long as this process lives.  False: it runs out after the
  // ttl.
  std::optional<bool> keep = {};

  // The time between renewals.  Default, and for zero: ttl/3, or with `finished` 70 % of the ttl.
  std::optional<Millis> renew_every = {};

  // Renew at most this often; then the lease runs out.  Default: no limit, or with `finished` 10.
  std::optional<int> max_renewals = {};

  // Called before each renewal, on the renewal thread.  True, or an exception, ends the renewals.  It is not
  // called once the lease has been released or destroyed; those wait up to 10 s for a running call.
  std::function<bool()> finished = {};

  // The lease outlives this process on purpose: the client does not renew it, and its destructor does not
  // release it.
  std::optional<bool> detached = {};
};

enum class Connect : std::uint8_t {
  at_once,  // opening a client fails if its store cannot be used
  lazy,     // opening a client sends nothing; the first call that needs the store fails if it cannot be used
};

struct ClientOptions {
  // Lazy: a service can start while its store is down.  Until the store has been opened, each call tries,
  // within connect_wait.
  Connect connect = Connect::at_once;

  // Creates the tables that are missing, as Admin::init() does.
  bool init = false;

  // For all acquisitions of this client and of the clients that its in() returns.  Not for the locks of jobs.
  AcquireOptions defaults = {};

  // The longest time that opening the store may take: finding it, connecting, and reading its setup.  After
  // that opening fails with Errc::unavailable.
  Millis connect_wait{std::chrono::seconds(5)};

  // A lease counts as lost this long before the store may grant it to somebody else, because clocks run at
  // different rates.  Default: the larger of 5 ms and 1 % of the ttl.
  std::optional<Millis> margin = {};

  // How long a place in a queue lasts without a refresh; three times as long behind more than three other
  // waiters.  The client refreshes it three times in that time.  So a waiter that has died delays those
  // behind it for at most three times this long, even if the store's clock is set back: a place that ends
  // later does not count.  Use one value for all clients of a store: a client with a shorter place may pass
  // one whose place is more than three times as long.
  Millis place{std::chrono::seconds(1)};

  // The largest number of requests that are sent together.
  std::size_t batch_limit = 512;

  // How often the client purges keys that have been free for a day, where the store does not do that itself.
  // The first purge is at a random time, so that short-lived clients do their share.  `never`: no purges.
  DurationOr<Never> purge_every{std::chrono::hours(1)};

  // Gets lines for people: a store that is set up unsafely, slow callbacks, renewals that fail.  One line
  // each, without secrets.  A function of a std::string_view works too: it gets only the text.  Called on any
  // thread.  Its exceptions are ignored.
  std::function<void(const LogRecord&)> log = {};

  // Gets an event for everything that can be counted or logged: see observer.h.  The clients that in()
  // returns have the same observer.
  std::shared_ptr<Observer> observer = {};

  // Gets the findings about the store when it is opened, in place of `log`; `line` is the text for the log.
  // Called on the thread that opens the store.
  std::function<void(const Finding&, std::string_view line)> on_finding = {};
};

}  // namespace holdfast
