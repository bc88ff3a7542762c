// SPDX-License-Identifier: Apache-2.0
// row.h - when a lease and a place end, what a database says of a key, and what the caller is told of it.
#pragma once
#include <optional>
#include <string_view>

#include "holdfast/spi/store.h"

namespace holdfast::core {

// -- the times of a lease, the same in every store; tests/conformance/rule_table_test.cpp holds all to it

// A lease is live up to and including its end, as in the ancestors' tables.  `end`: none is without end.
constexpr bool lease_is_live(std::optional<Micros> end, Micros now) noexcept { return !end || now <= *end; }
// The latest end of a lease that is over at `now`.
constexpr Micros last_end_before(Micros now) noexcept { return now - Micros(1); }

// A place in a queue is live until its end, and at its end no more.
constexpr bool place_is_live(Micros until, Micros now) noexcept { return now < until; }

// The longest ttl or place: 300 years.  Sums of a few stay far from the end of 64 bits.
inline constexpr Millis longest_length{10'000'000'000'000};
// A lease that is extended again and again ends at the latest then, in the year 6536: all databases have such
// times.
inline constexpr Micros latest_end{std::int64_t{1} << 57};

// `ttl` in the server's unit; none for `never`.  At most longest_length.
std::optional<std::int64_t> length_of(Millis ttl) noexcept;

// `start + ttl`, but at most latest_end; none for `never`.
std::optional<Micros> end_after(Micros start, Millis ttl) noexcept;

// Until `end`, in whole milliseconds, and at least one: what is live has something left.  REQUIRES: it is
// live.
Millis remaining(std::optional<Micros> end, Micros now) noexcept;

// -- what a database says

// What was kept of a key at `now`, on the store's clock.
struct Row {
  std::int64_t token = 0;
  std::string_view owner = {};  // empty: free
  std::optional<Micros> end = {};
  Micros now = {};

  bool live() const noexcept { return !owner.empty() && lease_is_live(end, now); }
};

void answer(Reply& reply, Verdict verdict, const Row& row);

// A release of whatever the holder may have been granted: it does not know, so it must not be told too early
// that there is nothing.
bool gives_back(const Request& request) noexcept;

// The latest end that a place of another client can have; one that ends later does not count
// (Request::longest_place).  None: all count.
std::optional<Micros> latest_place_end(const Request& request, Micros now) noexcept;

}  // namespace holdfast::core
