// SPDX-License-Identifier: Apache-2.0
// log_cursor.h - which lines of a store's log are new.
#pragma once
#include <cstddef>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "holdfast/admin.h"

namespace holdfast::cli {

// Reads the newest lines again and again and hands out each line once.  A line has no number, and clocks may
// stand still or go back: lines are known by all that they say.
class LogCursor {
 public:
  // The newest so many, newest first.
  using Read = std::function<Result<std::vector<LogRow>>(std::size_t limit)>;

  // Those that were not there the last time, oldest first; the first time none.  Asks for more until it
  // meets what it knows.
  Result<std::vector<LogRow>> next(const Read& read);

 private:
  bool began_ = false;
  std::multiset<std::string> known_;
  Moment newest_{};  // of what is known
};

}  // namespace holdfast::cli
