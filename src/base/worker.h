// SPDX-License-Identifier: Apache-2.0
// worker.h - a thread that the library runs inside the user's process.
#pragma once
#include <functional>
#include <future>
#include <string>
#include <system_error>
#include <thread>

#include "base/guarded.h"
#include "holdfast/clock.h"

namespace holdfast {

// A thread could not be started.  what() gives the cause and the remedy.
class NoThread final : public std::system_error {
 public:
  explicit NoThread(std::error_code why);
  const char* what() const noexcept override { return text_.c_str(); }

 private:
  std::string text_;
};

// The thread blocks all signals: signals are for the program's own threads.
class Worker {
 public:
  Worker() = default;
  // `work` must own everything that it uses, because it may outlive this object.  Throws NoThread.
  explicit Worker(std::function<void()> work);
  Worker(Worker&&) = default;
  Worker& operator=(Worker&&) = default;
  ~Worker();

  bool started() const noexcept { return thread_.joinable(); }
  // REQUIRES: started().
  bool ended() const { return ended_.wait_for(Millis::zero()) == std::future_status::ready; }
  bool is_this_thread() const noexcept { return thread_.get_id() == std::this_thread::get_id(); }

  // Waits until the work ends, but no longer than `patience`, and not at all on the thread itself.  If the
  // work has not ended by then, the thread is detached.  REQUIRES: the work was asked to end.
  void finish(Millis patience) noexcept;

 private:
  std::thread thread_;
  std::future<void> ended_;
};

}  // namespace holdfast
