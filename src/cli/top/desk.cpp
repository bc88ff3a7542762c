// SPDX-License-Identifier: Apache-2.0
#include "cli/top/desk.h"

#include <deque>
#include <mutex>
#include <utility>

namespace holdfast::cli {

struct Desk::Shared {
  Shared(Eye e, std::shared_ptr<Wakeup> b) : eye(std::move(e)), bell(std::move(b)) {}

  std::optional<Wish> next_wish() {
    const std::lock_guard lock(mutex);
    if (wishes.empty()) return std::nullopt;
    Wish wish = std::move(wishes.front());
    wishes.pop_front();
    return wish;
  }

  Answer answer_to(const Wish& wish) {
    if (wish.kind == Wish::Kind::inspect) return eye.inspect(wish.key);
    if (wish.kind == Wish::Kind::look) return eye.look();
    auto holder = eye.break_lease(wish.key, wish.token, wish.reason);
    if (!holder) return Result<Broken>(std::move(holder).error());
    return Result<Broken>(Broken{wish.key, *std::move(holder)});
  }

  void work() {
    while (true) {
      while (const auto wish = next_wish()) {
        Answer answer = answer_to(*wish);
        const std::lock_guard lock(mutex);
        if (wish->kind == Wish::Kind::look) looking = false;
        answers.push_back(std::move(answer));
        bell->ring();
      }
      {
        const std::lock_guard lock(mutex);
        if (over) return;
      }
      wakeup.wait(Instant::max());
    }
  }

  Eye eye;
  const std::shared_ptr<Wakeup> bell;
  Wakeup wakeup;
  std::mutex mutex;
  std::deque<Wish> wishes;
  std::deque<Answer> answers;
  bool looking = false;    // one was asked for, and is not answered
  std::size_t breaks = 0;  // that many were, and their answers were not taken
  bool over = false;
};

Desk::Desk(Eye eye, std::shared_ptr<Wakeup> bell)
    : shared_(std::make_shared<Shared>(std::move(eye), std::move(bell))),
      worker_([shared = shared_] { shared->work(); }) {}

Desk::~Desk() {
  {
    const std::lock_guard lock(shared_->mutex);
    shared_->over = true;
    shared_->wishes.clear();
  }
  shared_->wakeup.ring();
  // It may be stuck in the store, which is no reason to keep anybody waiting.
  worker_.finish(Millis::zero());
}

void Desk::ask(Wish wish) {
  {
    const std::lock_guard lock(shared_->mutex);
    if (wish.kind == Wish::Kind::look) {
      if (std::exchange(shared_->looking, true)) return;
    }
    if (wish.kind == Wish::Kind::break_lease) ++shared_->breaks;
    shared_->wishes.push_back(std::move(wish));
  }
  shared_->wakeup.ring();
}

std::optional<Desk::Answer> Desk::next() {
  const std::lock_guard lock(shared_->mutex);
  if (shared_->answers.empty()) return std::nullopt;
  Answer answer = std::move(shared_->answers.front());
  shared_->answers.pop_front();
  if (std::holds_alternative<Result<Broken>>(answer)) --shared_->breaks;
  return answer;
}

void Desk::drop_all_but_breaks() {
  const std::lock_guard lock(shared_->mutex);
  std::erase_if(shared_->wishes, [](const Wish& wish) { return wish.kind != Wish::Kind::break_lease; });
}

std::size_t Desk::breaks() const {
  const std::lock_guard lock(shared_->mutex);
  return shared_->breaks;
}

}  // namespace holdfast::cli
