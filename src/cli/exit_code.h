// SPDX-License-Identifier: Apache-2.0
// exit_code.h - the exit codes of the command: those of sysexits.h where it has one.
#pragma once
#include "holdfast/result.h"

namespace holdfast::cli {

inline constexpr int exit_ok = 0;
inline constexpr int exit_no = 1;          // the answer to a question is no
inline constexpr int exit_duplicate = 10;  // a job with that key exists already
inline constexpr int exit_usage = 64;
inline constexpr int exit_unreachable = 69;
inline constexpr int exit_busy = 75;  // `run -E` changes it
inline constexpr int exit_lost = 76;
inline constexpr int exit_refused = 77;
inline constexpr int exit_timed_out = 124;  // as timeout(1)
inline constexpr int exit_cannot_run = 126;
inline constexpr int exit_not_found = 127;

// Ended by signal `number`, as shells count.
constexpr int exit_signalled(int number) noexcept { return 128 + number; }

constexpr int exit_code(Errc code) noexcept {
  switch (code) {
    case Errc::busy:
    case Errc::timeout:
    case Errc::exhausted:
    case Errc::stopped: return exit_busy;
    case Errc::lost: return exit_lost;
    case Errc::too_late:  // a store that is too slow counts as unreachable
    case Errc::unavailable:
    case Errc::in_doubt:
    case Errc::forked: return exit_unreachable;  // forked: cannot happen, no client is used after fork
    case Errc::refused:
    case Errc::unprepared: return exit_refused;
    case Errc::invalid: return exit_usage;
  }
  return exit_unreachable;
}

}  // namespace holdfast::cli
