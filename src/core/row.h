// SPDX-License-Identifier: Apache-2.0
// row.h - what a database says of a key, and what the caller is told of it.
#pragma once
#include <optional>
#include <string_view>

#include "holdfast/spi/store.h"

namespace holdfast::core {

// What was kept of a key at `now`, on the store's clock.
struct Row {
  std::int64_t token = 0;
  std::string_view owner = {};  // empty: free
  std::optional<Micros> end = {};
  Micros now = {};

  bool live() const noexcept { return !owner.empty() && (!end || now <= *end); }
};

// Until `end`: at least 1 ms.
Millis remaining(std::optional<Micros> end, Micros now) noexcept;

void answer(Reply& reply, Verdict verdict, const Row& row);

// A release of whatever the holder may have been granted: it does not know, so it must not be told too early
// that there is nothing.
bool gives_back(const Request& request) noexcept;

// The latest end that a place of another client can have; one that ends later does not count
// (Request::longest_place).  None: all count.
std::optional<Micros> latest_place_end(const Request& request, Micros now) noexcept;

// `ttl` in the server's unit; none for `never`.  At most 300 years.
std::optional<std::int64_t> length_of(Millis ttl) noexcept;

}  // namespace holdfast::core
