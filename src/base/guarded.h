// SPDX-License-Identifier: Apache-2.0
// guarded.h - what a thread of the library runs, so that no exception leaves it.
#pragma once

namespace holdfast {

// Runs a part of a thread that the library has started and catches everything, because an exception that
// leaves the thread's function would end the process.  Returns false if `call` threw (no memory left, or a
// user's function).
template <class Call>
bool guarded(const Call& call) noexcept {
  try {
    call();
    return true;
  } catch (...) {
    return false;
  }
}

}  // namespace holdfast
