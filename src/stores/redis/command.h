// SPDX-License-Identifier: Apache-2.0
// command.h - writes a command the way the server reads it: *COUNT, then $LENGTH and the bytes of each word.
#pragma once
#include <algorithm>
#include <charconv>
#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/row.h"
#include "holdfast/clock.h"

namespace holdfast::redis {

// Appends to a text that is kept from call to call.  A word may be put together from parts without being
// copied first, which is why hiredis, which wants them whole, is not asked.
class Command {
 public:
  // REQUIRES: so many words follow.
  Command(std::string& out, std::size_t words) : out_(out) { line('*', words); }

  template <class... Part>
  Command& word(const Part&... part) {
    line('$', (std::string_view(part).size() + ...));
    (out_.append(std::string_view(part)), ...);
    out_.append("\r\n");
    return *this;
  }
  Command& number(std::integral auto value) {
    char digits[24];
    const auto end = std::to_chars(digits, digits + sizeof digits, value).ptr;
    return word(std::string_view(digits, static_cast<std::size_t>(end - digits)));
  }

 private:
  void line(char kind, std::size_t count) {
    char digits[24];
    const auto end = std::to_chars(digits, digits + sizeof digits, count).ptr;
    out_.push_back(kind);
    out_.append(digits, static_cast<std::size_t>(end - digits));
    out_.append("\r\n");
  }
  std::string& out_;
};

// As the scripts want it: in milliseconds, -1 for a lease without an end.
inline std::int64_t ttl_ms(Millis ttl) {
  return ttl == never ? -1 : std::min(ttl, core::longest_length).count();
}
inline Millis ttl_of(std::int64_t ms) { return ms < 0 ? Millis(never) : Millis(ms); }

}  // namespace holdfast::redis
