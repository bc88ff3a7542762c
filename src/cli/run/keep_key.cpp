// SPDX-License-Identifier: Apache-2.0
#include "cli/run/keep_key.h"

#include <sys/wait.h>

#include <memory>

#include "base/fd.h"

namespace holdfast::cli {
namespace {

// Whether one came that ends the wait.
bool told_to_end(Signals& signals) {
  bool ends = false;
  while (const auto signal = signals.next()) {
    switch (meaning_of(*signal)) {
      case Meaning::ends: ends = true; break;
      case Meaning::stops: Signals::stop_own_group(); break;
      case Meaning::child:  // the guard, and what CMD left behind on purpose
        while (::waitpid(-1, nullptr, WNOHANG) > 0) {
        }
        break;
      case Meaning::passes:
      case Meaning::continues: break;
    }
  }
  return ends;
}

}  // namespace

void keep_key(Lease& lease, Instant until, Signals& signals) {
  // Shared with a function that the library may still be calling when we are gone.
  const auto wakeup = std::make_shared<Wakeup>();
  lease.on_lost([wakeup](const Lost&) { wakeup->ring(); });
  while (BootClock::now() < until && lease.held() && !told_to_end(signals)) wakeup->wait(until, signals.fd());
}

}  // namespace holdfast::cli
