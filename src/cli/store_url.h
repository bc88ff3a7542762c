// SPDX-License-Identifier: Apache-2.0
// store_url.h - which store the command speaks to.
#pragma once
#include <span>
#include <string>

namespace holdfast::cli {

// What --store says, else HOLDFAST_STORE, else the file of sqlite::default_path().
std::string store_url(const std::string& given);

// If `given` holds a password: overwrites it in the list of arguments, which every user of the machine can
// read, and warns.  To be called as soon as it is known.
void hide_password(const std::string& given, std::span<char* const> argv);

}  // namespace holdfast::cli
