// SPDX-License-Identifier: Apache-2.0
#include "base/text.h"

#include <algorithm>
#include <cassert>
#include <cstdint>
#include <iterator>

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

struct Range {
  std::uint32_t first, last;
};

// Control characters, characters that reorder text, and characters that are invisible or appear as a space:
// two names that differ only in these are displayed alike.  In Unicode 15 they are Cc, Zl, Zp, Zs,
// Default_Ignorable_Code_Point, and most of Cf.
constexpr Range invisible[] = {
    {0x0000, 0x001F},    // controls
    {0x007F, 0x00A0},    // controls, no-break space
    {0x00AD, 0x00AD},    // soft hyphen
    {0x034F, 0x034F},    // combining grapheme joiner
    {0x061C, 0x061C},    // Arabic letter mark
    {0x115F, 0x1160},    // Hangul fillers
    {0x1680, 0x1680},    // Ogham space
    {0x17B4, 0x17B5},    // Khmer inherent vowels
    {0x180B, 0x180F},    // Mongolian selectors and separator
    {0x2000, 0x200F},    // spaces, zero width, marks of direction
    {0x2028, 0x202F},    // separators, embeddings, narrow space
    {0x205F, 0x206F},    // mathematical space, joiners, isolates
    {0x2800, 0x2800},    // Braille without dots
    {0x3000, 0x3000},    // ideographic space
    {0x3164, 0x3164},    // Hangul filler
    {0xFE00, 0xFE0F},    // variation selectors
    {0xFEFF, 0xFEFF},    // byte order mark
    {0xFFA0, 0xFFA0},    // Hangul filler, half width
    {0xFFF0, 0xFFFB},    // annotations
    {0x1BCA0, 0x1BCA3},  // shorthand format
    {0x1D173, 0x1D17A},  // musical format
    {0xE0000, 0xE0FFF},  // tags, more variation selectors
};

bool shown_as_is(std::uint32_t point) {
  return std::none_of(std::begin(invisible), std::end(invisible),
                      [&](const Range& range) { return range.first <= point && point <= range.last; });
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

std::string store_command(std::string_view store, std::string_view command) {
  constexpr std::string_view plain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-+_.,:/@%=";
  std::string word(store);
  if (store.find_first_not_of(plain) != std::string_view::npos) {
    for (std::size_t at = 0; (at = word.find('\'', at)) != std::string::npos; at += 4)
      word.replace(at, 1, "'\\''");
    word = "'" + word + "'";
  }
  return "holdfast --store " + word + " " + std::string(command);
}

std::string substitute(std::string_view text,
                       const std::function<std::string(std::string_view word)>& word_for) {
  std::string out;
  while (true) {
    const std::size_t open = text.find('{');
    out += text.substr(0, open);
    if (open == std::string_view::npos) return out;
    const std::size_t close = text.find('}', open);
    assert(close != std::string_view::npos);
    out += word_for(text.substr(open + 1, close - open - 1));
    text.remove_prefix(close + 1);
  }
}

int json_depth(std::string_view text) noexcept {
  int depth = 0, deepest = 0;
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '"')
      quoted = !quoted;
    else if (quoted && c == '\\')
      ++i;
    else if (!quoted && (c == '[' || c == '{'))
      deepest = std::max(deepest, ++depth);
    else if (!quoted && (c == ']' || c == '}'))
      --depth;
  }
  return deepest;
}

Status check_json_depth(std::string_view text, const std::string& what) {
  if (json_depth(text) <= deepest_json) return Status{};
  return Error{Errc::invalid, what + " is nested deeper than " + std::to_string(deepest_json) +
                                  " levels; pass the inner part as a string"};
}

}  // namespace holdfast
