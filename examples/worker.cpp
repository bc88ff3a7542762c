// SPDX-License-Identifier: Apache-2.0
// worker.cpp - work that ends when its lease does: the lease's stop_token goes down into the loop.
#include <holdfast/holdfast.h>

#include <condition_variable>
#include <iostream>
#include <mutex>

using namespace std::chrono_literals;

// Knows nothing of leases.  Waits for the next item, or for the order to stop, whichever comes first.
int work_off(std::stop_token stop, int items) {
  std::mutex mutex;
  std::condition_variable_any more;
  int done = 0;
  for (std::unique_lock lock(mutex); !stop.stop_requested(); ++done) {
    const bool there = more.wait(lock, stop, [&] { return done < items; });
    if (!there) break;  // stopped while waiting
  }
  return done;
}

int main() {
  auto client = holdfast::open("sqlite:leases.db");

  // Nobody renews this one: after its ttl it is lost, as it would be if the store were gone for so long.
  auto result = client.try_run("inbox", {.ttl = 2s, .keep = false}, [](holdfast::Lease& lease) {
    const int done = work_off(lease.stop_token(), 3);
    std::cout << "did " << done << " items, then was told to stop\n";
    std::cout << "because it is lost: " << lease.lost().detail << "\n";
    return done;
  });

  // Work that ended after the loss is never reported as done: somebody else may have begun it already.
  if (!result && result.error().code == holdfast::Errc::lost) std::cout << "so it does not count\n";
}
