// SPDX-License-Identifier: Apache-2.0
// path.h - where the file lies, and making what is missing there.
#pragma once
#include <string>
#include <vector>

#include "core/findings.h"
#include "holdfast/rows.h"
#include "stores/sqlite/machine.h"

namespace holdfast::sqlite {

// The path from the root, by today's working directory.
std::string absolute(const std::string& path);

// Makes the folder and the empty file where they are missing (0700, 0600; 0660 in a folder shared by a group)
// and returns the one name of the file: its folder without symbolic links, so that every way to it leads to
// the same folder PATH.d.
//
// Throws Failure; Errc::refused for a file that is not to be trusted (ownership.h) and, for a
// place with dangers that are not accepted.  Nothing is made then.
std::string make_file(const std::string& path, const Machine& machine, const core::Accepted& accepted);

// The folder it lies in, or as much of the way to it as there is, without symbolic links.  Throws Failure.
std::string folder_so_far(const std::string& path);

// What is unsafe about a folder: a file system without dependable locks; a folder, it or one above it, that
// everybody may write or that belongs to another user.
std::vector<Finding> dangers_of(const std::string& folder, const Machine& machine);

}  // namespace holdfast::sqlite
