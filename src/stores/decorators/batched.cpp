// SPDX-License-Identifier: Apache-2.0
#include "stores/decorators/batched.h"

#include <algorithm>
#include <exception>
#include <string>
#include <vector>

namespace holdfast {
namespace {

// How long a leader waits for those who travelled with the last batch.
constexpr int most_yields = 4;
constexpr Micros patience{100};

Error unsent() {
  return {Errc::unavailable,
          "timed out before the request could be sent: other threads of this client kept the connection "
          "busy; use a longer time limit or a second client"};
}

// A store that throws must not leave its callers behind: they stand in each other's queue.
Status careful(StoreConnection& connection, std::span<const Request> requests, std::span<Reply> replies,
               Instant until) {
  try {
    return connection.apply(requests, replies, until);
  } catch (const std::exception& e) {
    return Error{Errc::in_doubt, std::string("the store threw an exception: ") + e.what() +
                                     "; it is not known whether the request took effect"};
  }
}

// Whoever sent a single request is told what it would have been told alone.
Status own_status(const Status& batch, std::span<const Reply> replies) {
  const bool failed = batch && replies.size() == 1 && replies.front().error;
  return failed ? Status(*replies.front().error) : batch;
}

}  // namespace

Status Batched::apply(std::span<const Request> requests, std::span<Reply> replies, Instant until) {
  Ticket mine{requests, replies, until};
  std::unique_lock lock(mutex_);
  enqueue(mine);
  switch (take_turn(lock, mine)) {
    case Turn::lead: return lead(lock);
    case Turn::answered: return std::move(mine.status);
    case Turn::late: return unsent();
  }
  return unsent();
}

void Batched::enqueue(Ticket& mine) {
  if (!queue_.empty()) mine.wake = std::make_shared<Condition>();  // first: it may throw
  queue_.push_back(&mine);
}

Batched::Turn Batched::take_turn(std::unique_lock<Mutex>& lock, Ticket& mine) {
  const auto ready = [&] { return mine.done || queue_.front() == &mine; };
  if (ready()) return Turn::lead;
  // The boot clock through a condition variable: after a suspend this may be late by one `until`, which
  // is seconds; what must not be late (loss) does not pass through here.
  const bool in_time = mine.until == Instant::max() ? (mine.wake->wait(lock, ready), true)
                                                    : mine.wake->wait_until(lock, mine.until, ready);
  if (!in_time && !mine.taken) {
    std::erase(queue_, &mine);
    return Turn::late;
  }
  if (!in_time) mine.wake->wait(lock, [&] { return mine.done; });  // in flight: its leader is due before us
  return mine.done ? Turn::answered : Turn::lead;
}

// Whoever has just been answered runs again soon, but not before this thread lets it: a thread that has a
// core would otherwise travel alone, again and again, until its time slice is over.
void Batched::gather(std::unique_lock<Mutex>& lock) {
  if (queue_.size() >= last_group_) return;
  const Instant enough = BootClock::now() + patience;
  for (int i = 0; i < most_yields && queue_.size() < last_group_ && BootClock::now() < enough; ++i) {
    lock.unlock();
    let_others_run();
    lock.lock();
  }
}

// REQUIRES: this thread's ticket is at the front.
Status Batched::lead(std::unique_lock<Mutex>& lock) {
  gather(lock);
  Ticket* const self = queue_.front();
  std::size_t group = 0, count = 0;
  for (const Ticket* t : queue_) {
    const bool fits =
        group == 0 || (!t->alone && t->until >= self->until && count + t->requests.size() <= limit_);
    if (!fits) break;
    count += t->requests.size();
    ++group;
  }
  last_group_ = group;
  if (group == 1) {  // nobody else is here: no copying
    lock.unlock();
    Status status = careful(connection_, self->requests, self->replies, self->until);
    lock.lock();
    leave_front(lock);
    return status;
  }

  // Whatever can fail for want of memory comes before anybody is taken.
  std::vector<Request> requests;
  std::vector<Reply> replies;
  std::vector<Waker> answered;
  try {
    requests.reserve(count);
    replies.resize(count);
    answered.reserve(group);
  } catch (...) {
    leave_front(lock);
    throw;
  }
  for (std::size_t i = 0; i < group; ++i) {
    requests.insert(requests.end(), queue_[i]->requests.begin(), queue_[i]->requests.end());
    queue_[i]->taken = true;
  }
  lock.unlock();
  const Status status = careful(connection_, requests, replies, self->until);
  lock.lock();

  auto next = replies.begin();
  for (std::size_t i = 0; i < group; ++i) {
    Ticket* const t = queue_[i];
    const auto end = next + static_cast<std::ptrdiff_t>(t->replies.size());
    std::move(next, end, t->replies.begin());
    next = end;
    t->status = own_status(status, t->replies);
    if (t == self) continue;
    t->done = true;
    answered.push_back(t->wake);
  }
  Status own = std::move(self->status);
  queue_.erase(queue_.begin() + 1, queue_.begin() + static_cast<std::ptrdiff_t>(group));
  leave_front(lock);
  for (const Waker& waker : answered) waker->notify_one();
  return own;
}

// Wakes after unlocking: whoever is woken needs the mutex at once.
void Batched::leave_front(std::unique_lock<Mutex>& lock) {
  queue_.pop_front();
  const Waker next = queue_.empty() ? nullptr : queue_.front()->wake;
  lock.unlock();
  if (next) next->notify_one();
}

template <class Call>
auto Batched::alone(Instant until, Call call) -> decltype(call()) {
  Ticket mine{.requests = {}, .replies = {}, .until = until, .alone = true};
  std::unique_lock lock(mutex_);
  enqueue(mine);
  if (take_turn(lock, mine) == Turn::late) return unsent();
  lock.unlock();
  const auto leave = [&] {
    lock.lock();
    leave_front(lock);
  };
  try {
    auto result = call();
    leave();
    return result;
  } catch (...) {
    leave();
    throw;
  }
}

Result<Page> Batched::list(const Query& query, Instant until) {
  return alone(until, [&] { return connection_.list(query, until); });
}

Result<std::unique_ptr<StoreListener>> Batched::listener(Instant until) {
  return alone(until, [&] { return connection_.listener(until); });
}

Result<Traits> Batched::examine(Instant until) {
  return alone(until, [&] { return connection_.examine(until); });
}

}  // namespace holdfast
