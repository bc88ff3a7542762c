// SPDX-License-Identifier: Apache-2.0
#include "cli/top/async_queries.h"

#include <deque>
#include <mutex>
#include <utility>

namespace holdfast::cli {

struct AsyncQueries::Shared {
  Shared(StorePoller p, std::shared_ptr<Wakeup> a) : poller(std::move(p)), answered(std::move(a)) {}

  std::optional<TopAction> next_action() {
    const std::lock_guard lock(mutex);
    if (actions.empty()) return std::nullopt;
    TopAction action = std::move(actions.front());
    actions.pop_front();
    return action;
  }

  Answer answer_to(const TopAction& action) {
    if (action.kind == TopAction::Kind::inspect) return poller.inspect(action.key);
    if (action.kind == TopAction::Kind::refresh) return poller.read();
    auto owner = poller.break_lease(action.key, action.token, action.reason);
    if (!owner) return Result<Broken>(std::move(owner).error());
    return Result<Broken>(Broken{action.key, *std::move(owner)});
  }

  void work() {
    while (true) {
      while (const auto action = next_action()) {
        Answer answer = answer_to(*action);
        const std::lock_guard lock(mutex);
        if (action->kind == TopAction::Kind::refresh) refreshing = false;
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
  const std::shared_ptr<Wakeup> answered;  // of the caller
  Wakeup wakeup;
  std::mutex mutex;
  std::deque<TopAction> actions;
  std::deque<Answer> answers;
  bool refreshing = false;  // a refresh waits or runs
  std::size_t breaks = 0;   // breaks whose answers next() has not returned
  bool over = false;
};

AsyncQueries::AsyncQueries(StorePoller poller, std::shared_ptr<Wakeup> answered)
    : shared_(std::make_shared<Shared>(std::move(poller), std::move(answered))),
      worker_([shared = shared_] { shared->work(); }) {}

AsyncQueries::~AsyncQueries() {
  {
    const std::lock_guard lock(shared_->mutex);
    shared_->over = true;
    shared_->actions.clear();
  }
  shared_->wakeup.ring();
  // Do not wait: the thread may hang in the store.
  worker_.finish(Millis::zero());
}

void AsyncQueries::ask(TopAction action) {
  {
    const std::lock_guard lock(shared_->mutex);
    if (action.kind == TopAction::Kind::refresh) {
      if (std::exchange(shared_->refreshing, true)) return;
    }
    if (action.kind == TopAction::Kind::break_lease) ++shared_->breaks;
    shared_->actions.push_back(std::move(action));
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
  std::erase_if(shared_->actions,
                [](const TopAction& action) { return action.kind != TopAction::Kind::break_lease; });
}

std::size_t AsyncQueries::breaks() const {
  const std::lock_guard lock(shared_->mutex);
  return shared_->breaks;
}

}  // namespace holdfast::cli
