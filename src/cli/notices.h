// SPDX-License-Identifier: Apache-2.0
// notices.h - what a client logs on stderr.
#pragma once
#include <string_view>

#include "holdfast/options.h"

namespace holdfast::cli {

// Options that log to stderr.  A warning about how the store is set up is printed at most once a day, because
// cron mails every line, and not at all if `quiet`.  Everything else is printed always.
ClientOptions with_notices(bool quiet);

// True if this line was not printed to this user on this host within the last day; remembers it.  The memory
// is a file in the user's state folder, otherwise in that of the session (XDG_RUNTIME_DIR), otherwise in
// holdfast-UID in TMPDIR or /tmp.  If other users can write to all of them, nothing is remembered, and the
// result is true.
bool is_due_today(std::string_view line);

}  // namespace holdfast::cli
