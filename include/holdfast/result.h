// SPDX-License-Identifier: Apache-2.0
// result.h - the one way anything here fails.
//
// A function either returns Result<T> and does not throw for anything a store can do, or it is the
// throwing spelling of such a function, which is always `try_x(...).value()`.  There is no third way
// and no second body.
#pragma once
#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>

#include "holdfast/clock.h"
#include "holdfast/export.h"

namespace holdfast {

// What became of the call.  `Error`'s questions are usually the better thing to branch on.
enum class Errc : std::uint8_t {
  busy,         // someone else holds the lease, or waits for it in front of us
  timeout,      // waited as long as was asked
  exhausted,    // tried as many times as was asked
  stopped,      // the caller's stop_token asked to stop waiting
  too_late,     // granted, but so late that it was not worth having; given back
  lost,         // the lease was ours and is not any more
  unavailable,  // the store was not reached: nothing was applied
  in_doubt,     // the store was reached and did not answer: the request may have been applied
  refused,      // the store or the system does not let us: permission, unsafe or foreign database
  unprepared,   // the store lacks tables that Operator::init() makes, and with them leases or jobs
  invalid,      // the caller's mistake: the text names the input and what would be right
  forked,       // this process is the child of the one that holds the client
};

// Why a lease is no longer ours.
enum class Loss : std::uint8_t {
  none,         // it is still ours, or it was released
  unreachable,  // its deadline passed and no renewal had been confirmed
  stolen,       // somebody else was granted the key
  broken,       // an operator broke it
  gone,         // the store does not know the grant any more, and nobody holds the key
  forked,       // we are a child process: the lease is our parent's
};

HOLDFAST_API const char* to_string(Errc) noexcept;
HOLDFAST_API const char* to_string(Loss) noexcept;

struct HOLDFAST_API Error {
  Errc code;
  std::string detail;       // for people, never for branching
  std::string holder = {};  // busy, timeout: who holds the key, if known
  Millis remaining = {};    // busy, timeout: how long that holder has left at most
  Loss loss = Loss::none;   // lost: why

  // Questions a caller can act on, rather than a taxonomy to catch by.

  // The same call may succeed later without anybody changing anything.
  bool retryable() const noexcept;
  // Somebody else has the key: an ordinary answer, not a fault.
  bool busy() const noexcept {
    return code == Errc::busy || code == Errc::timeout || code == Errc::exhausted;
  }
  // The store may have done what was asked.  A lease perhaps granted is given back behind the scenes.
  bool in_doubt() const noexcept { return code == Errc::in_doubt; }
};

// What the throwing spellings throw.
class HOLDFAST_API Failure : public std::runtime_error {
 public:
  explicit Failure(Error e) : std::runtime_error(e.detail), error_(std::move(e)) {}
  const Error& error() const noexcept { return error_; }

 private:
  Error error_;
};

// The Failure whose code is Errc::lost: the work under the lease must not be taken for done.
class HOLDFAST_API LeaseLost : public Failure {
 public:
  using Failure::Failure;
  Loss reason() const noexcept { return error().loss; }
};

[[noreturn]] HOLDFAST_API void raise(Error);  // throws LeaseLost or Failure

// A subset of std::expected<T, Error>, by the same names, until the oldest compiler we support has it.
template <class T = std::monostate>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}      // NOLINT: implicit on purpose
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}  // NOLINT

  explicit operator bool() const noexcept { return has_value(); }
  bool has_value() const noexcept { return state_.index() == 0; }

  T& operator*() & { return std::get<0>(state_); }
  const T& operator*() const& { return std::get<0>(state_); }
  T&& operator*() && { return std::get<0>(std::move(state_)); }
  T* operator->() { return &std::get<0>(state_); }
  const T* operator->() const { return &std::get<0>(state_); }
  const Error& error() const& { return std::get<1>(state_); }
  Error&& error() && { return std::get<1>(std::move(state_)); }

  T value() && {
    if (!has_value()) raise(std::get<1>(std::move(state_)));
    return std::get<0>(std::move(state_));
  }

 private:
  std::variant<T, Error> state_;
};

using Status = Result<>;
inline Status ok() { return std::monostate{}; }

}  // namespace holdfast
