// SPDX-License-Identifier: Apache-2.0
// look.h - a store that somebody has used before.
#pragma once
#include "cli/command_line.h"
#include "holdfast/operate.h"

namespace holdfast::cli {

struct Looked {
  Operator by_hand;
  bool unused = false;  // nothing is there: nobody holds or waits for anything
};

// For commands that look, or change what is there.  They make nothing: a mistyped path would look as if
// everything were free.  So of a store that nobody has used yet it says so.
Result<Looked> look_at_store(const Common& common);

}  // namespace holdfast::cli
