// SPDX-License-Identifier: Apache-2.0
#include "base/random.h"

namespace holdfast {

namespace {

constexpr char hex_digits[] = "0123456789abcdef";

}  // namespace

std::string random_hex(std::size_t digits) {
  std::string text;
  text.reserve(digits);
  std::uint64_t bits = 0;
  for (std::size_t i = 0; i < digits; ++i, bits >>= 4) {
    if (i % 16 == 0) bits = random_bits();
    text.push_back(hex_digits[bits & 15]);
  }
  return text;
}

std::string Serial::next() {
  // Multiplying by an odd number keeps all values different, and neighbours get different leading digits.
  std::uint64_t bits = count_.fetch_add(1, std::memory_order_relaxed) * 0x9E3779B97F4A7C15ULL;
  std::string text(16, '0');
  for (char& digit : text) {
    digit = hex_digits[bits >> 60];
    bits <<= 4;
  }
  return text;
}

}  // namespace holdfast
