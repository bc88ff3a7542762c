// SPDX-License-Identifier: Apache-2.0
#include "core/row.h"

#include <algorithm>

namespace holdfast::core {

std::optional<std::int64_t> length_of(Millis ttl) noexcept {
  if (ttl == never) return std::nullopt;
  return Micros(std::min(ttl, longest_length)).count();
}

std::optional<Micros> end_after(Micros start, Millis ttl) noexcept {
  const auto length = length_of(ttl);
  if (!length) return std::nullopt;
  // A row that we did not write may have any end: no sum of it is made that could overflow.
  return start < latest_end - Micros(*length) ? start + Micros(*length) : latest_end;
}

Millis remaining(std::optional<Micros> end, Micros now) noexcept {
  if (!end) return Millis(never);
  return std::max(std::chrono::floor<Millis>(*end - now), Millis(1));
}

void answer(Reply& reply, Verdict verdict, const Row& row) {
  reply.verdict = verdict;
  reply.token = Token{static_cast<std::uint64_t>(std::max<std::int64_t>(row.token, 0))};
  reply.owner = row.owner;
  reply.remaining = row.live() ? remaining(row.end, row.now) : Millis::zero();
  reply.ahead = 0;
  reply.now = StoreTime{row.now.count()};
}

bool gives_back(const Request& r) noexcept {
  return r.verb == Verb::release && r.token == no_token && !r.owner.text.empty();
}

std::optional<Micros> latest_place_end(const Request& r, Micros now) noexcept {
  const auto length = length_of(r.longest_place);
  return length && *length > 0 ? std::optional(now + Micros(*length)) : std::nullopt;
}

}  // namespace holdfast::core
