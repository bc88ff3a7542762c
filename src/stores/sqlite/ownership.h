// SPDX-License-Identifier: Apache-2.0
// ownership.h - who else could write what we trust.
//
// Ours to trust is what belongs to us or to root and others may not write (a group may: that is for its owner
// to decide).  What belongs to somebody else is trusted only where it is shared on purpose: its group is one
// of ours, and it and its folder are writable by their groups and not by others.  Links are never followed:
// they lead where others choose.
#pragma once
#include <sys/types.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/fd.h"
#include "holdfast/rows.h"

namespace holdfast::sqlite {

// The checks throw Errc::refused with the path, what is wrong, and what would be right.

// The folder, or the next one above it, that everybody may write and that is not sticky as /tmp is: anybody
// could put another folder or file in place of ours.  Empty: there is none.
// REQUIRES: a path without symbolic links.
std::string open_folder(const std::string& folder);

// The folder, or the next one above it, that belongs to another user than root, who could do the same: sticky
// or not, a folder's owner may rename what lies in it.  Not if it is shared with us on purpose, nor those
// above it of the same user. REQUIRES: a path without symbolic links.
struct ForeignFolder {
  std::string path;
  uid_t owner;
};
std::optional<ForeignFolder> foreign_folder(const std::string& folder);

// The file and what SQLite keeps beside it, as far as they exist.
void check_files(const std::string& path);

// The folder PATH.d, which exists.
void check_client_folder(const std::string& folder);

// Why no file can be made in there, as errno(3) has it; zero: nothing is known to stand in the way.
int obstacle_in(const std::string& folder);

// What people should know about a file that is used all the same.
std::vector<Finding> doubts_about(const std::string& path);

// Whether what is made there is for the group as well: a folder like 2770.
bool is_shared(const std::string& folder);

// Makes something for the group, whatever the umask says: under another name first, so that nobody finds it
// before its mode is right.  `make` makes it for us alone, and opens it: the mode is given to that, for
// somebody of the group may put a private file of ours in its place meanwhile.  Zero, or errno(3) of what
// failed: EEXIST if somebody was faster.
int make_shared_as(const std::string& path, mode_t mode,
                   const std::function<Fd(const std::string& name)>& make);

}  // namespace holdfast::sqlite
