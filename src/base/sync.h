// SPDX-License-Identifier: Apache-2.0
// sync.h - how threads of the library wait for each other.  The simulator compiles the library with headers
// of its own in place of this one, wakeup.h and worker.h: then threads and sleeps are simulated.
#pragma once
#include <condition_variable>
#include <mutex>
#include <thread>

namespace holdfast {

using Mutex = std::mutex;
using Condition = std::condition_variable;
using StoppableCondition = std::condition_variable_any;  // a std::stop_token ends a wait

inline void let_others_run() noexcept { std::this_thread::yield(); }

}  // namespace holdfast
