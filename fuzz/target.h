// SPDX-License-Identifier: Apache-2.0
// target.h - what every target has in common: libFuzzer calls it with bytes, and a property that does not
// hold ends it.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace holdfast::fuzz {

inline std::string_view text_of(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

inline void require(bool holds, const char* property, std::string_view seen = {}) {
  if (holds) return;
  std::fprintf(stderr, "does not hold: %s: %.*s\n", property, static_cast<int>(seen.size()), seen.data());
  std::abort();
}

}  // namespace holdfast::fuzz
