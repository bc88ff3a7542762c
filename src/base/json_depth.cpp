// SPDX-License-Identifier: Apache-2.0
#include "base/json_depth.h"

#include <algorithm>

namespace holdfast {

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
