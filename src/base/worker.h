// SPDX-License-Identifier: Apache-2.0
// worker.h - a thread of ours inside somebody else's process.
#pragma once
#include <functional>
#include <future>
#include <string>
#include <system_error>
#include <thread>

#include "holdfast/clock.h"

namespace holdfast {

// No thread could be had.  what() also says what to do about it.
class NoThread final : public std::system_error {
 public:
  explicit NoThread(std::error_code why);
  const char* what() const noexcept override { return text_.c_str(); }

 private:
  std::string text_;
};

// Runs a part of such a thread.  What it throws, for want of memory or out of a user's function, has nobody
// to go to and would end the process.  False: it threw.
template <class Call>
bool guarded(const Call& call) noexcept {
  try {
    call();
    return true;
  } catch (...) {
    return false;
  }
}

// Blocks all signals in the thread: they are the program's, not ours.
class Worker {
 public:
  Worker() = default;
  // `work` must own all that it uses: it may outlive this object.  Throws NoThread.
  explicit Worker(std::function<void()> work);
  Worker(Worker&&) = default;
  Worker& operator=(Worker&&) = default;
  ~Worker();

  bool started() const noexcept { return thread_.joinable(); }
  // REQUIRES: started().
  bool ended() const { return ended_.wait_for(Millis::zero()) == std::future_status::ready; }
  bool is_this_thread() const noexcept { return thread_.get_id() == std::this_thread::get_id(); }

  // Waits for the work to end, but no longer than `patience` and not at all on the thread itself; one that
  // has not ended by then is left to itself.  REQUIRES: it has been told to end.
  void finish(Millis patience) noexcept;

 private:
  std::thread thread_;
  std::future<void> ended_;
};

}  // namespace holdfast
