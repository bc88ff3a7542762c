// SPDX-License-Identifier: Apache-2.0
// tell.h - a line to the user's log.
#pragma once
#include <string_view>

#include "holdfast/options.h"

namespace holdfast {

// Whatever becomes of it, no lease is the worse for it: what a log throws has nobody to go to.
inline void tell(const ClientOptions& options, std::string_view line) noexcept {
  try {
    if (options.log) options.log(line);
  } catch (...) {
  }
}

}  // namespace holdfast
