// SPDX-License-Identifier: Apache-2.0
// run.h - what `holdfast run` was asked to do.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/exit_code.h"
#include "cli/words/spec.h"
#include "holdfast/clock.h"
#include "holdfast/options.h"

namespace holdfast::cli {

// When `run` may run CMD, once it holds the key.  Zero: no condition; never both.
struct RunCondition {
  Millis tick{};   // once per interval of the store's wall clock
  Millis every{};  // not if CMD has succeeded within this time
};

// What happens to CMD when its lease is lost or about to be.
enum class OnLost : std::uint8_t {
  term,    // TERM, and KILL in time
  kill,    // KILL, as late as possible
  ignore,  // nothing
  exec,    // run a program instead of TERM, and KILL in time
};

// How CMD is ended, and how long it may take.
struct Ending {
  OnLost on_lost = OnLost::term;
  std::string program = {};               // of OnLost::exec
  std::optional<Millis> kill_after = {};  // between TERM and KILL; none: derived from the ttl
  Millis at_least{};                      // the key is kept this long even if CMD ends sooner
  holdfast::Wait at_most = forever;       // CMD is ended after that
  std::string at_most_from = {};          // FILE:LINE that sets it; empty: the command line
};

struct Run {
  std::string key;
  AcquireOptions options;
  Millis ttl{};  // of the options
  int busy_code = exit_busy;
  RunCondition condition = {};
  Ending ending = {};
  std::vector<std::string> command;
};

Run run_of(const Given& given);

}  // namespace holdfast::cli
