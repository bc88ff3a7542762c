// SPDX-License-Identifier: Apache-2.0
// look.h - a store that somebody has used before.
//
// For commands that look, or change what is there.  They make nothing: a mistyped path would look as if
// everything were free.  A server without tables is refused.
#pragma once
#include "cli/command_line.h"
#include "holdfast/client.h"
#include "holdfast/operate.h"

namespace holdfast::cli {

struct Looked {
  Operator by_hand;
  bool unused = false;  // nothing is there: nobody holds or waits for anything
};

// Says so on stderr of a store that nobody has used yet.
Result<Looked> look_at_store(const Common& common);

// A client of it; Errc::lost where nobody has used it yet.
Result<Client> open_used_store(const Common& common);

}  // namespace holdfast::cli
