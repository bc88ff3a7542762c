// SPDX-License-Identifier: Apache-2.0
// batched.h - many threads, one round trip.
#pragma once
#include <deque>
#include <memory>

#include "base/sync.h"
#include "holdfast/spi/store.h"

namespace holdfast {

// Lets any number of threads use a StoreConnection.  Callers queue; the one at the front takes what is queued
// behind it, up to `limit` requests, sends it as one batch and hands out the answers.  While it is away
// the next batch gathers: the slower the store, the larger the batches.
//
// Everyone's deadline is kept: a batch runs under its leader's `until` and takes only followers that have
// at least as much time.  Whoever is not taken in time leaves unsent, which is a clean `unavailable`.
class Batched final : public StoreConnection {
 public:
  // `store` must outlive this.
  explicit Batched(StoreConnection& connection, std::size_t limit = 512)
      : connection_(connection), limit_(limit) {}

  Status apply(std::span<const Request> requests, std::span<Reply> replies, Instant until) override;
  Result<Page> list(const Query& query, Instant until) override;
  Result<Traits> examine(Instant until) override;
  Result<std::unique_ptr<StoreListener>> listener(Instant until) override;

  // How many callers are here, those in flight included.
  std::size_t callers() {
    const std::lock_guard lock(mutex_);
    return queue_.size();
  }

 private:
  // Shared, because it is rung when the mutex is free and its ticket may be gone.
  using Waker = std::shared_ptr<Condition>;
  struct Ticket {
    std::span<const Request> requests;
    std::span<Reply> replies;
    Instant until;
    bool alone = false;  // wants the store for itself: takes no followers and follows nobody
    bool taken = false;  // in the batch now in flight
    bool done = false;
    Status status = Status{};
    Waker wake = {};  // of one who has to wait
  };

  void enqueue(Ticket& mine);
  enum class Turn { lead, answered, late };
  Turn take_turn(std::unique_lock<Mutex>& lock, Ticket& mine);
  void gather(std::unique_lock<Mutex>& lock);
  Status lead(std::unique_lock<Mutex>& lock);
  void leave_front(std::unique_lock<Mutex>& lock);
  template <class Call>
  auto alone(Instant until, Call call) -> decltype(call());

  StoreConnection& connection_;
  const std::size_t limit_;
  Mutex mutex_;
  std::deque<Ticket*> queue_;   // guarded by mutex_
  std::size_t last_group_ = 1;  // the same: how many travelled together
};

}  // namespace holdfast
