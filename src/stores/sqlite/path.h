// SPDX-License-Identifier: Apache-2.0
// path.h - where the file lies, and making what is missing there.
#pragma once
#include <string>

#include "stores/sqlite/machine.h"

namespace holdfast::sqlite {

// The path from the root, by today's working directory.
std::string absolute(const std::string& path);

// Makes the folder and the empty file where they are missing (0700, 0600; 0660 in a folder shared by a group)
// and returns the one name of the file: its folder without symbolic links, so that every way to it leads to
// the same folder PATH.d.
//
// Throws Failure; Errc::refused for a place or a file that is not to be trusted (ownership.h), and, unless
// `allow_unsafe`, for a file system without dependable locks.  Nothing is made then.
std::string make_file(const std::string& path, const Machine& machine, bool allow_unsafe);

}  // namespace holdfast::sqlite
