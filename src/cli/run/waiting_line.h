// SPDX-License-Identifier: Apache-2.0
// waiting_line.h - on a terminal: for whom we wait, and how long already.
#pragma once
#include <memory>
#include <string>

#include "base/fd.h"
#include "base/worker.h"
#include "holdfast/admin.h"

namespace holdfast::cli {

// While it lives, and if stderr is a terminal, one line there says who holds the key.  It comes when the
// wait is longer than a blink, is written anew every second, and goes with this object.
class WaitingLine {
 public:
  // `look` must be nobody else's.
  WaitingLine(Admin look, std::string key);
  ~WaitingLine();
  WaitingLine(const WaitingLine&) = delete;
  WaitingLine& operator=(const WaitingLine&) = delete;

 private:
  struct Shared;
  std::shared_ptr<Shared> shared_;  // with the thread, which may be stuck in the store when we go
  Worker worker_;
};

}  // namespace holdfast::cli
