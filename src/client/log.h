// SPDX-License-Identifier: Apache-2.0
// log.h - a line to the user's log.
#pragma once
#include <string>
#include <string_view>

#include "holdfast/options.h"
#include "holdfast/rows.h"

namespace holdfast {

// Whatever becomes of it, no lease is the worse for it: what a log throws has nobody to go to.
inline void log_line(const ClientOptions& options, std::string_view line) noexcept {
  try {
    if (options.log) options.log(line);
  } catch (...) {
  }
}

// What was found about a store: where, what, and what to do about it.
inline void log_line(const ClientOptions& options, const Finding& finding,
                     const std::string& connection) noexcept {
  try {
    const std::string advice = finding.advice.empty() ? "" : "; " + finding.advice;
    const std::string line = connection + ": " + finding.what + advice +
                             ", or accept it with accept=" + finding.topic + " in the URL";
    if (options.on_finding)
      options.on_finding(finding, line);
    else
      log_line(options, line);
  } catch (...) {
  }
}

}  // namespace holdfast
