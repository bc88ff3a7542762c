// SPDX-License-Identifier: Apache-2.0
#include "stores/mariadb/words.h"

#include <algorithm>

#include "base/text.h"

namespace holdfast::mariadb {

std::string hex(std::string_view text) {
  constexpr std::string_view letters = "0123456789abcdef";
  std::string out = "x'";
  out.reserve(2 * text.size() + 3);
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    out += letters[byte / 16];
    out += letters[byte % 16];
  }
  return out += '\'';
}

std::string digits(std::optional<std::int64_t> number) { return number ? std::to_string(*number) : "NULL"; }

std::string datetime(std::optional<Micros> moment) {
  if (!moment) return "NULL";
  return "TIMESTAMP'1970-01-01 00:00:00.000000' + INTERVAL " + std::to_string(moment->count()) +
         " MICROSECOND";
}

std::string with(std::string_view statement, const Values& values) {
  return substitute(statement, [&](std::string_view word) {
    const auto found =
        std::find_if(values.begin(), values.end(), [&](const auto& value) { return value.first == word; });
    return found != values.end() ? found->second : "{" + std::string(word) + "}";
  });
}

}  // namespace holdfast::mariadb
