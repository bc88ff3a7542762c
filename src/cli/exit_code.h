// SPDX-License-Identifier: Apache-2.0
// exit_code.h - what the command tells the shell.  The numbers of sysexits.h, where it has one.
#pragma once
#include "holdfast/result.h"

namespace holdfast::cli {

inline constexpr int exit_ok = 0;
inline constexpr int exit_no = 1;          // of a question
inline constexpr int exit_duplicate = 10;  // of a job that is there already
inline constexpr int exit_usage = 64;
inline constexpr int exit_unreachable = 69;
inline constexpr int exit_busy = 75;  // `run -E` changes it
inline constexpr int exit_lost = 76;
inline constexpr int exit_refused = 77;
inline constexpr int exit_timed_out = 124;  // as timeout(1) has it
inline constexpr int exit_cannot_run = 126;
inline constexpr int exit_not_found = 127;

// Died, or was told to end, by signal `number`: as a shell counts.
constexpr int exit_signalled(int number) noexcept { return 128 + number; }

constexpr int exit_code(Errc code) noexcept {
  switch (code) {
    case Errc::busy:
    case Errc::timeout:
    case Errc::exhausted:
    case Errc::stopped: return exit_busy;
    case Errc::lost: return exit_lost;
    case Errc::too_late:  // a store so slow is as good as none
    case Errc::unavailable:
    case Errc::in_doubt:
    case Errc::forked: return exit_unreachable;  // forked: cannot happen, we never fork behind a client
    case Errc::refused:
    case Errc::unprepared: return exit_refused;
    case Errc::invalid: return exit_usage;
  }
  return exit_unreachable;
}

}  // namespace holdfast::cli
