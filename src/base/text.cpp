// SPDX-License-Identifier: Apache-2.0
#include "base/text.h"

#include <cstdint>

namespace holdfast {
namespace {

struct Decoded {
  std::size_t length;  // zero: not UTF-8
  std::uint32_t point;
};

Decoded decode(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  if (first < 0x80) return {1, first};
  const std::size_t length = first >= 0xF0 && first < 0xF8 ? 4 : first >= 0xE0 ? 3 : first >= 0xC0 ? 2 : 0;
  if (length == 0 || first >= 0xF8 || text.size() < length) return {0, 0};
  std::uint32_t point = first & (0x7Fu >> length);
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return {0, 0};
    point = point << 6 | (byte(i) & 0x3Fu);
  }
  static constexpr std::uint32_t smallest[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool surrogate = point >= 0xD800 && point <= 0xDFFF;
  if (point < smallest[length] || point > 0x10FFFF || surrogate) return {0, 0};
  return {length, point};
}

bool shown_as_is(std::uint32_t point) {
  const bool control = point < 0x20 || (point >= 0x7F && point < 0xA0);
  const bool reorders = point == 0x061C || point == 0x200E || point == 0x200F ||
                        (point >= 0x2028 && point <= 0x202E) || (point >= 0x2066 && point <= 0x2069);
  return !control && !reorders;
}

}  // namespace

bool is_utf8(std::string_view text) noexcept {
  while (!text.empty()) {
    const Decoded d = decode(text);
    if (d.length == 0) return false;
    text.remove_prefix(d.length);
  }
  return true;
}

std::string printable(std::string_view text) {
  static constexpr char hex[] = "0123456789abcdef";
  std::string out;
  while (!text.empty()) {
    const Decoded d = decode(text);
    const std::size_t length = d.length == 0 ? 1 : d.length;
    if (d.length != 0 && shown_as_is(d.point)) {
      out.append(text.substr(0, length));
    } else {
      for (const char c : text.substr(0, length)) {
        const auto b = static_cast<unsigned char>(c);
        out.append({'\\', 'x', hex[b >> 4], hex[b & 15]});
      }
    }
    text.remove_prefix(length);
  }
  return out;
}

}  // namespace holdfast
