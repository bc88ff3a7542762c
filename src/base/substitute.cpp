// SPDX-License-Identifier: Apache-2.0
#include "base/substitute.h"

#include <cassert>

namespace holdfast {

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

}  // namespace holdfast
