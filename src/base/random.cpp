// SPDX-License-Identifier: Apache-2.0
#include "base/random.h"

#include <sys/random.h>

#include <cerrno>
#include <system_error>

namespace holdfast {

std::uint64_t random_bits() {
  std::uint64_t bits = 0;
  while (getrandom(&bits, sizeof bits, 0) != sizeof bits) {
    if (errno != EINTR) throw std::system_error(errno, std::generic_category(), "getrandom");
  }
  return bits;
}

std::string random_hex(std::size_t digits) {
  static constexpr char hex[] = "0123456789abcdef";
  std::string text;
  text.reserve(digits);
  std::uint64_t bits = 0;
  for (std::size_t i = 0; i < digits; ++i, bits >>= 4) {
    if (i % 16 == 0) bits = random_bits();
    text.push_back(hex[bits & 15]);
  }
  return text;
}

}  // namespace holdfast
