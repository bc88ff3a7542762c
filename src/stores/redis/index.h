// SPDX-License-Identifier: Apache-2.0
// index.h - the keys of an index, in order, a page at a time.  The server's own keys are never scanned.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "stores/redis/link.h"

namespace holdfast::redis {

struct Stretch {
  std::string_view index;   // Naming::index() or Naming::held()
  std::string_view prefix;  // keys that begin so
  std::string_view after;   // and stand behind this one; empty: from the first
  std::size_t limit;
};

// Throws Failure.
std::vector<std::string> keys_of_index(Link& link, const Stretch& stretch, Instant until);

}  // namespace holdfast::redis
