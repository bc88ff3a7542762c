// SPDX-License-Identifier: Apache-2.0
#include "cli/top/async_queries.h"

#include <deque>
#include <mutex>
#include <utility>

namespace holdfast::cli {

struct AsyncQueries::Shared {
  Shared(StorePoller p, std::shared_ptr<Wakeup> a) : poller(std::move(p)), answered(std::move(a)) {}

  std::optional<RunRequest> next_wish() {
    const std::lock_guard lock(mutex);
    if (wishes.empty()) return std::nullopt;
    RunRequest wish = std::move(wishes.front());
    wishes.pop_front();
    return wish;
  }

  Answer answer_to(const RunRequest& wish) {
    if (wish.kind == RunRequest::Kind::inspect) return poller.inspect(wish.key);
    if (wish.kind == RunRequest::Kind::look) return poller.look();
    auto owner = poller.break_lease(wish.key, wish.token, wish.reason);
    if (!owner) return Result<Broken>(std::move(owner).error());
    return Result<Broken>(Broken{wish.key, *std::move(owner)});
  }

  void work() {
    while (true) {
      while (const auto wish = next_wish()) {
        Answer answer = answer_to(*wish);
        const std::lock_guard lock(mutex);
        if (wish->kind == RunRequest::Kind::look) looking = false;
        answers.push_back(std::move(answer));
        answered->ring();
      }
      {
        const std::lock_guard lock(mutex);
        if (over) return;
      }
      wakeup.wait(Instant::max());
    }
  }

  StorePoller poller;
  const std::shared_ptr<Wakeup> answered;  // the asker's
  Wakeup wakeup;
  std::mutex mutex;
  std::deque<RunRequest> wishes;
  std::deque<Answer> answers;
  bool looking = false;    // one was asked for, and is not answered
  std::size_t breaks = 0;  // that many were, and their answers were not taken
  bool over = false;
};

AsyncQueries::AsyncQueries(StorePoller poller, std::shared_ptr<Wakeup> answered)
    : shared_(std::make_shared<Shared>(std::move(poller), std::move(answered))),
      worker_([shared = shared_] { shared->work(); }) {}

AsyncQueries::~AsyncQueries() {
  {
    const std::lock_guard lock(shared_->mutex);
    shared_->over = true;
    shared_->wishes.clear();
  }
  shared_->wakeup.ring();
  // It may be stuck in the store, which is no reason to keep anybody waiting.
  worker_.finish(Millis::zero());
}

void AsyncQueries::ask(RunRequest wish) {
  {
    const std::lock_guard lock(shared_->mutex);
    if (wish.kind == RunRequest::Kind::look) {
      if (std::exchange(shared_->looking, true)) return;
    }
    if (wish.kind == RunRequest::Kind::break_lease) ++shared_->breaks;
    shared_->wishes.push_back(std::move(wish));
  }
  shared_->wakeup.ring();
}

std::optional<AsyncQueries::Answer> AsyncQueries::next() {
  const std::lock_guard lock(shared_->mutex);
  if (shared_->answers.empty()) return std::nullopt;
  Answer answer = std::move(shared_->answers.front());
  shared_->answers.pop_front();
  if (std::holds_alternative<Result<Broken>>(answer)) --shared_->breaks;
  return answer;
}

void AsyncQueries::drop_all_but_breaks() {
  const std::lock_guard lock(shared_->mutex);
  std::erase_if(shared_->wishes,
                [](const RunRequest& wish) { return wish.kind != RunRequest::Kind::break_lease; });
}

std::size_t AsyncQueries::breaks() const {
  const std::lock_guard lock(shared_->mutex);
  return shared_->breaks;
}

}  // namespace holdfast::cli
