// SPDX-License-Identifier: Apache-2.0
// wait_for_lease.h - waits for a key until it is granted or a signal arrives, and shows the holder meanwhile.
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <variant>

#include "base/worker.h"
#include "cli/run/signals.h"
#include "holdfast/admin.h"
#include "holdfast/client.h"

namespace holdfast::cli {

struct RunRequest {
  std::string url;
  std::string key;
  AcquireOptions options;
  // Called when the lease is granted.  If it returns an error, the lease is released, and the wait ends with
  // that error.
  std::function<Status(const Client&, const Lease&)> admit = {};
  bool quiet = false;  // print no warnings about how the store is set up
};

struct Granted {
  std::shared_ptr<Store> store;  // of the client
  Client client;
  Lease lease;
};
struct Interrupted {
  int signal;
  bool typed;  // on the keyboard
};
using WaitResult = std::variant<Granted, Error, Interrupted>;

// Connects to the store and acquires the lease, both within options.wait, on its own thread; the calling
// thread handles signals.  Interrupted: the place in the queue is given up, and a lease that was granted
// meanwhile is released, unless options.owner is set: another process may hold it as the same owner.  If the
// store hangs, this takes at most a second.
WaitResult wait_for_lease(RunRequest request, Signals& signals);

// While this object lives, and if stderr is a terminal, one line there says who holds the key.  It appears
// after a quarter of a second, is refreshed every second, and is erased by the destructor.
class WaitingLine {
 public:
  // `admin` must not be used by anybody else.
  WaitingLine(Admin admin, std::string key);
  ~WaitingLine();
  WaitingLine(const WaitingLine&) = delete;
  WaitingLine& operator=(const WaitingLine&) = delete;

 private:
  struct Shared;
  std::shared_ptr<Shared> shared_;  // the thread uses it too, and may outlive us if the store hangs
  Worker worker_;
};

}  // namespace holdfast::cli
