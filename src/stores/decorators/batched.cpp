// SPDX-License-Identifier: Apache-2.0
#include "stores/decorators/batched.h"

#include <algorithm>
#include <vector>

namespace holdfast {
namespace {

Error unsent() { return {Errc::unavailable, "the store was busy with other calls until the time was over"}; }

}  // namespace

Status Batched::apply(std::span<const Request> requests, std::span<Reply> replies, Instant until) {
  Ticket mine{requests, replies, until};
  std::unique_lock lock(mutex_);
  queue_.push_back(&mine);
  switch (take_turn(lock, mine)) {
    case Turn::lead: return lead(lock);
    case Turn::answered: return std::move(mine.status);
    case Turn::late: return unsent();
  }
  return unsent();
}

Batched::Turn Batched::take_turn(std::unique_lock<std::mutex>& lock, Ticket& mine) {
  const auto ready = [&] { return mine.done || queue_.front() == &mine; };
  // The boot clock through a condition variable: after a suspend this may be late by one `until`, which
  // is seconds; what must not be late (loss) does not pass through here.
  const bool in_time = mine.until == Instant::max() ? (mine.wake.wait(lock, ready), true)
                                                    : mine.wake.wait_until(lock, mine.until, ready);
  if (!in_time && !mine.taken) {
    std::erase(queue_, &mine);
    return Turn::late;
  }
  if (!in_time) mine.wake.wait(lock, [&] { return mine.done; });  // in flight: its leader is due before us
  return mine.done ? Turn::answered : Turn::lead;
}

// REQUIRES: this thread's ticket is at the front.
Status Batched::lead(std::unique_lock<std::mutex>& lock) {
  Ticket* const self = queue_.front();
  std::size_t group = 0, count = 0;
  for (const Ticket* t : queue_) {
    const bool fits =
        group == 0 || (!t->alone && t->until >= self->until && count + t->requests.size() <= limit_);
    if (!fits) break;
    count += t->requests.size();
    ++group;
  }
  if (group == 1) {  // nobody else is here: no copying
    lock.unlock();
    Status status = store_.apply(self->requests, self->replies, self->until);
    lock.lock();
    queue_.pop_front();
    if (!queue_.empty()) queue_.front()->wake.notify_one();
    return status;
  }

  std::vector<Request> requests;
  requests.reserve(count);
  for (std::size_t i = 0; i < group; ++i) {
    requests.insert(requests.end(), queue_[i]->requests.begin(), queue_[i]->requests.end());
    queue_[i]->taken = true;
  }
  lock.unlock();
  std::vector<Reply> replies(count);
  Status status = store_.apply(requests, replies, self->until);
  lock.lock();

  auto next = replies.begin();
  for (; group != 0; --group) {
    Ticket* const t = queue_.front();
    queue_.pop_front();
    const auto end = next + static_cast<std::ptrdiff_t>(t->replies.size());
    std::move(next, end, t->replies.begin());
    next = end;
    if (t == self) continue;
    t->status = status;
    t->done = true;
    t->wake.notify_one();
  }
  if (!queue_.empty()) queue_.front()->wake.notify_one();
  return status;
}

template <class Call>
auto Batched::alone(Instant until, Call call) -> decltype(call()) {
  Ticket mine{.requests = {}, .replies = {}, .until = until, .alone = true};
  std::unique_lock lock(mutex_);
  queue_.push_back(&mine);
  if (take_turn(lock, mine) == Turn::late) return unsent();
  lock.unlock();
  auto result = call();
  lock.lock();
  queue_.pop_front();
  if (!queue_.empty()) queue_.front()->wake.notify_one();
  return result;
}

Result<Page> Batched::list(const Query& query, Instant until) {
  return alone(until, [&] { return store_.list(query, until); });
}

std::unique_ptr<Bell> Batched::bell() {
  auto bell = alone(Instant::max(), [&] { return Result<std::unique_ptr<Bell>>(store_.bell()); });
  return bell ? *std::move(bell) : nullptr;
}

Result<Traits> Batched::examine(Instant until) {
  return alone(until, [&] { return store_.examine(until); });
}

}  // namespace holdfast
