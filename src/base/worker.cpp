// SPDX-License-Identifier: Apache-2.0
#include "base/worker.h"

#include <csignal>
#include <memory>

namespace holdfast {

NoThread::NoThread(std::error_code why)
    : system_error(why),
      text_("cannot start a thread: " + why.message() +
            "; raise the limit on processes (ulimit -u) or on memory (ulimit -v)") {}

Worker::Worker(std::function<void()> work) {
  const auto end = std::make_shared<std::promise<void>>();
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  try {
    thread_ = std::thread([work = std::move(work), end]() mutable {
      work();
      work = nullptr;  // destroys what it owned before ended() turns true
      end->set_value();
    });
    ended_ = end->get_future();  // only now: breaking a promise needs memory, and without any it terminates
  } catch (const std::system_error& e) {
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    throw NoThread(e.code());
  } catch (...) {
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    throw;
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

Worker::~Worker() { finish(Millis::zero()); }

void Worker::finish(Millis patience) noexcept {
  if (!thread_.joinable()) return;
  if (!is_this_thread() && ended_.wait_for(patience) == std::future_status::ready)
    thread_.join();
  else
    thread_.detach();
}

}  // namespace holdfast
