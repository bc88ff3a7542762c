// SPDX-License-Identifier: Apache-2.0
// message.h - a request on its way to the store, with what the checks know about it.
#pragma once
#include <string>

#include "holdfast/spi/store.h"

namespace holdfast::sim {

// One acquisition by one thread, granted or not; numbered through the whole seed.
using AttemptId = int;

struct Message {
  Verb verb;
  int key = 0;
  std::string owner;
  Token token{};
  Millis ttl{};
  Millis place{};
  bool extend = false;
  AttemptId attempt_id = -1;  // for the checks: the store does not see it
  bool copy = false;          // for the checks: the network doubled it
  Micros void_at{};           // acquire: on the store's clock
};

}  // namespace holdfast::sim
