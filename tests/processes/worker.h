// SPDX-License-Identifier: Apache-2.0
// worker.h - acquires and releases until it is killed, and checks that it is alone.
#pragma once
#include <string>

#include "holdfast/clock.h"

namespace holdfast::test {

struct Work {
  std::string url;
  std::size_t worker;
  std::string scoreboard;
  Millis ttl;
  bool outages;  // the store may be gone for a while: calls may fail, grants may not be forgotten
};

// Returns only when it has seen what must not be; the reason is on stderr.
int work(const Work& work);

}  // namespace holdfast::test
