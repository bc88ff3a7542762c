// SPDX-License-Identifier: Apache-2.0
#include "client/callbacks.h"

#include <utility>

namespace holdfast {
namespace {

using namespace std::chrono_literals;

constexpr Millis patience_with_callbacks = 1s;  // with a function that runs while the client is destroyed

}  // namespace

void Callbacks::close() {
  {
    const std::lock_guard lock(queue_->mutex);
    if (std::exchange(queue_->closed, true)) return;
    queue_->changed.notify_one();
  }
  worker_.finish(patience_with_callbacks);
}

void Callbacks::get_ready() {
  const std::lock_guard lock(queue_->mutex);
  if (!queue_->closed && !worker_.started()) worker_ = Worker([queue = queue_] { work(*queue); });
}

void Callbacks::run(std::function<void()> function) {
  const std::lock_guard lock(queue_->mutex);
  if (queue_->closed) return;
  queue_->functions.push_back(std::move(function));
  queue_->changed.notify_one();
}

void Callbacks::work(Queue& queue) {
  std::unique_lock lock(queue.mutex);
  while (true) {
    queue.changed.wait(lock, [&] { return queue.closed || !queue.functions.empty(); });
    if (queue.functions.empty()) return;
    {
      const auto function = std::move(queue.functions.front());
      queue.functions.pop_front();
      lock.unlock();
      function();
    }  // destroyed here, unlocked: it may own the last lease
    lock.lock();
  }
}

}  // namespace holdfast
