// SPDX-License-Identifier: Apache-2.0
// notices.h - what a client is told beside its answers, on stderr.
#pragma once
#include <string_view>

#include "holdfast/options.h"

namespace holdfast::cli {

// How a store is set up is told at most once a day, and not at all if the user wants it quiet: cron mails
// every line.  All else is told as it happens.
ClientOptions with_notices(bool quiet);

// Whether nobody of this user has been told that line on this host for a day; from now on somebody has.  It
// is remembered by a file in the user's state folder, else in that of the session (XDG_RUNTIME_DIR), and not
// at all where others could have made both or written in them.
bool is_news(std::string_view line);

}  // namespace holdfast::cli
