// SPDX-License-Identifier: Apache-2.0
// wait_for_lease.h - the wait for a key, which a signal can end.
#pragma once
#include <functional>
#include <string>
#include <variant>

#include "cli/run/signals.h"
#include "holdfast/client.h"

namespace holdfast::cli {

struct RunRequest {
  std::string url;
  std::string key;
  AcquireOptions options;
  // Asked when it is granted; an error gives it back, and is what came of the wait.
  std::function<Status(const Client&, const Lease&)> admit = {};
  bool quiet = false;  // nothing is told of how the store is set up
};

struct Granted {
  Client client;
  Lease lease;
};
struct Interrupted {
  int signal;
  bool typed;  // on the keyboard
};
using Waited = std::variant<Granted, Error, Interrupted>;

// Reaches the store and acquires, both within options.wait, on a thread of its own; this one listens to
// signals.  On a terminal it says for whom it waits.  Interrupted: the place in the queue is given up, and
// what may have been granted is given back, unless an owner was named: others may hold it by that name.
// Should the store hang, we do not wait for that longer than a second.
Waited wait_for_lease(RunRequest wish, Signals& signals);

}  // namespace holdfast::cli
