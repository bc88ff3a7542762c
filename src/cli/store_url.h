// SPDX-License-Identifier: Apache-2.0
// store_url.h - which store the command speaks to, and what nobody else may know about it.
#pragma once
#include <span>
#include <string>

#include "holdfast/result.h"

namespace holdfast::cli {

// What --store says, else HOLDFAST_STORE, else the file of sqlite::default_path().  @FILE stands for what the
// first line of FILE says; if that is a password's, nobody else may be able to read it.
//
// HOLDFAST_STORE says the same from now on, for what CMD calls; with *** for a password, which holdfast
// refuses: to fall back to another store would be worse.
//
// For PostgreSQL a password in PGPASSWORD is taken out of the environment, and into the URL if that has none.
//
// A password is secret from here on: gone from the list of arguments (with a warning, for every user could
// have read it), from our environment and so from CMD's, from whatever we say, and from a core.
//
// To be called first of all: before any thread, and before anything is said.
Result<std::string> take_store_url(const std::string& given, std::span<char* const> argv);

}  // namespace holdfast::cli
