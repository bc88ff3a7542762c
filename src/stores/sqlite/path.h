// SPDX-License-Identifier: Apache-2.0
// path.h - where the file lies, and making what is missing there.
#pragma once
#include <string>

namespace holdfast::sqlite {

// The path from the root, by today's working directory.
std::string absolute(const std::string& path);

// Makes the folder and the empty file where they are missing (0700, 0600) and returns the one name of the
// file: its folder without symbolic links, so that every way to it leads to the same folder PATH.d.
// Throws Failure; also for what is no regular file, or has a second name: SQLite would keep two logs for it.
std::string make_file(const std::string& path);

}  // namespace holdfast::sqlite
