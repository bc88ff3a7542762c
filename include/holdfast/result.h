// SPDX-License-Identifier: Apache-2.0
// result.h - results and errors: how every call reports that it failed.
//
// `try_x()` returns Result<T> and does not throw for anything that a store can do.  `x()` throws, and is
// always `try_x().value()`.
#pragma once
#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>

#include "holdfast/clock.h"
#include "holdfast/export.h"

namespace holdfast {

// How the call failed.  In most programs it is better to test the functions of `Error`, such as busy().
enum class Errc : std::uint8_t {
  busy,         // someone else holds the lease, or is before us in the queue
  timeout,      // waited as long as was asked
  exhausted,    // tried as many times as was asked
  stopped,      // the caller's stop_token asked to stop waiting
  too_late,     // granted too late: less than half of the ttl was left, and the lease was given back
  lost,         // the lease is no longer held
  unavailable,  // the store was not reached: nothing was applied
  in_doubt,     // the store was reached and did not answer: the request may have been applied
  refused,      // not allowed: a missing permission, an unsafe database, or one of another program
  unprepared,   // the store lacks tables for leases or jobs, which Admin::init() creates
  invalid,      // a mistake of the caller: the text names the input and what would be correct
  forked,       // this process is the child of the one that holds the client
};

// Why a lease is no longer held.
enum class Loss : std::uint8_t {
  none,         // it is still held, or it was released
  unreachable,  // its deadline passed and no renewal had been confirmed
  stolen,       // somebody else was granted the key
  broken,       // an operator broke it
  gone,         // the store does not know the grant any more, and nobody holds the key
  forked,       // this is a child process: the lease belongs to its parent
};

HOLDFAST_API const char* to_string(Errc) noexcept;
HOLDFAST_API const char* to_string(Loss) noexcept;

struct HOLDFAST_API Error {
  Errc code;
  std::string detail;      // for people, never for branching
  std::string owner = {};  // busy, timeout: who holds the key, if known
  Millis remaining = {};   // busy, timeout: how long that holder has left; as LeaseRow::remaining
  Loss loss = Loss::none;  // lost: why

  // Use these functions to decide what to do.

  // The same call may succeed later without anybody changing anything.
  bool retryable() const noexcept;
  // Somebody else has the key: an ordinary answer, not a fault.
  bool busy() const noexcept {
    return code == Errc::busy || code == Errc::timeout || code == Errc::exhausted;
  }
  // The store may have done what was asked.  If a lease was granted, the client gives it back in the
  // background.
  bool in_doubt() const noexcept { return code == Errc::in_doubt; }
};

// The exception of the functions that throw.
class HOLDFAST_API Failure : public std::runtime_error {
 public:
  explicit Failure(Error e) : std::runtime_error(e.detail), error_(std::move(e)) {}
  const Error& error() const noexcept { return error_; }

 private:
  Error error_;
};

// The Failure for Errc::lost: do not treat the work under the lease as done.
class HOLDFAST_API LeaseLost : public Failure {
 public:
  using Failure::Failure;
  Loss reason() const noexcept { return error().loss; }
};

[[noreturn]] HOLDFAST_API void throw_failure(Error);  // throws LeaseLost or Failure

// A value or an error.  The functions are those of std::expected<T, Error> in C++23, except value(): it
// throws Failure or LeaseLost, not std::bad_expected_access.
template <class T = std::monostate>
class [[nodiscard]] Result {
 public:
  using value_type = T;
  using error_type = Error;

  Result() requires std::is_default_constructible_v<T> : state_(std::in_place_index<0>) {}
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}      // NOLINT: implicit on purpose
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}  // NOLINT

  explicit operator bool() const noexcept { return has_value(); }
  bool has_value() const noexcept { return state_.index() == 0; }

  // REQUIRES: has_value().
  T& operator*() & { return std::get<0>(state_); }
  const T& operator*() const& { return std::get<0>(state_); }
  T&& operator*() && { return std::get<0>(std::move(state_)); }
  T* operator->() { return &std::get<0>(state_); }
  const T* operator->() const { return &std::get<0>(state_); }
  // REQUIRES: !has_value().
  Error& error() & { return std::get<1>(state_); }
  const Error& error() const& { return std::get<1>(state_); }
  Error&& error() && { return std::get<1>(std::move(state_)); }

  T& value() & { return check(), **this; }
  const T& value() const& { return check(), **this; }
  T value() && {
    if (!has_value()) throw_failure(std::get<1>(std::move(state_)));
    return std::get<0>(std::move(state_));
  }
  template <class U>
  T value_or(U&& otherwise) const& {
    return has_value() ? **this : static_cast<T>(std::forward<U>(otherwise));
  }
  template <class U>
  T value_or(U&& otherwise) && {
    return has_value() ? *std::move(*this) : static_cast<T>(std::forward<U>(otherwise));
  }

  // Returns next(value), which is a Result; or the error.
  template <class F>
  auto and_then(F&& next) & {
    return chain(*this, std::forward<F>(next));
  }
  template <class F>
  auto and_then(F&& next) const& {
    return chain(*this, std::forward<F>(next));
  }
  template <class F>
  auto and_then(F&& next) && {
    return chain(std::move(*this), std::forward<F>(next));
  }

  // Returns Result(change(value)); or the error.
  template <class F>
  auto transform(F&& change) & {
    return map(*this, std::forward<F>(change));
  }
  template <class F>
  auto transform(F&& change) const& {
    return map(*this, std::forward<F>(change));
  }
  template <class F>
  auto transform(F&& change) && {
    return map(std::move(*this), std::forward<F>(change));
  }

  // Returns the value; or mend(error), which is a Result<T>.
  template <class F>
  Result or_else(F&& mend) const& {
    return has_value() ? *this : std::invoke(std::forward<F>(mend), error());
  }
  template <class F>
  Result or_else(F&& mend) && {
    return has_value() ? std::move(*this) : std::invoke(std::forward<F>(mend), std::move(*this).error());
  }

 private:
  void check() const {
    if (!has_value()) throw_failure(std::get<1>(state_));
  }
  template <class Self, class F>
  static auto chain(Self&& self, F&& next) {
    using Next = std::remove_cvref_t<std::invoke_result_t<F, decltype(*std::forward<Self>(self))>>;
    if (!self.has_value()) return Next(std::forward<Self>(self).error());
    return Next(std::invoke(std::forward<F>(next), *std::forward<Self>(self)));
  }
  template <class Self, class F>
  static auto map(Self&& self, F&& change) {
    using Changed = std::remove_cvref_t<std::invoke_result_t<F, decltype(*std::forward<Self>(self))>>;
    if constexpr (std::is_void_v<Changed>) {
      if (!self.has_value()) return Result<>(std::forward<Self>(self).error());
      std::invoke(std::forward<F>(change), *std::forward<Self>(self));
      return Result<>();
    } else {
      if (!self.has_value()) return Result<Changed>(std::forward<Self>(self).error());
      return Result<Changed>(std::invoke(std::forward<F>(change), *std::forward<Self>(self)));
    }
  }

  std::variant<T, Error> state_;
};

// The result of a call without a value: Status{} is success.
using Status = Result<>;

}  // namespace holdfast
