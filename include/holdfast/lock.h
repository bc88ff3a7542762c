// SPDX-License-Identifier: Apache-2.0
// lock.h - a lease with the interface of a std::timed_mutex.
#pragma once
#include <chrono>
#include <optional>
#include <string>

#include "holdfast/client.h"

namespace holdfast {

// A mutex shared by every process that names it.  Meets TimedLockable, so std::scoped_lock,
// std::unique_lock and std::lock work on it.
//
// `wait` of its options is ignored: lock() waits forever, or for as many `attempts` as its options or its
// client's defaults say; the other functions wait as long as they are asked to.
//
// A lock can be lost while it is locked.  Watch lease().stop_token() while you work, and pass lease().token()
// to what the lock protects.
//
// Unlike std::mutex, lock() can fail: it throws Failure.  try_lock() returns false if the key is busy, and
// throws if the store fails.  Locking a Lock that is already locked fails with Errc::invalid.  unlock() never
// throws.  Use a Lock in one thread, like a std::unique_lock.
class Lock {
 public:
  Lock(Client client, std::string key, AcquireOptions options = {})
      : client_(std::move(client)), key_(std::move(key)), options_(std::move(options)) {}

  void lock() {
    check_unlocked();
    lease_ = client_.acquire(key_, with_wait(forever));
  }
  bool try_lock() { return attempt(Millis::zero()); }
  void unlock() noexcept {
    try {
      if (lease_)
        (void)lease_->try_release();  // explicitly: the destructor of a detached lease releases nothing
    } catch (...) {                   // out of memory: the lease ends when its ttl is over
    }
    lease_.reset();
  }

  template <class Rep, class Period>
  bool try_lock_for(std::chrono::duration<Rep, Period> wait) {
    return attempt(std::chrono::ceil<Millis>(wait));
  }
  template <class C, class D>
  bool try_lock_until(std::chrono::time_point<C, D> when) {
    return try_lock_for(when - C::now());
  }

  // True if it is locked and the lease is not lost.
  bool held() const noexcept { return lease_ && lease_->held(); }

  // The lease behind the lock.  REQUIRES: locked.
  Lease& lease() { return lease_.value(); }
  const Lease& lease() const { return lease_.value(); }

 private:
  AcquireOptions with_wait(Wait wait) const {
    AcquireOptions options = options_;
    options.wait = wait;
    if (wait == Millis::zero()) {  // try once: ignore schedules of these options and of the client's
      options.attempts = 0;
      options.interval = {};
    }
    return options;
  }
  void check_unlocked() const {
    if (held())
      throw_failure({Errc::invalid, "this lock on " + key_ + " is locked already; unlock it first"});
  }
  bool attempt(Millis wait) {
    check_unlocked();
    auto result = client_.try_acquire(key_, with_wait(std::max(wait, Millis::zero())));
    if (!result && !result.error().busy()) throw_failure(std::move(result).error());
    if (result) lease_ = *std::move(result);
    return result.has_value();  // not lease_.has_value(): a lost lease is still there
  }

  Client client_;
  std::string key_;
  AcquireOptions options_;
  std::optional<Lease> lease_;
};

}  // namespace holdfast
