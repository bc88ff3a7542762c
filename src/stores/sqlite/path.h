// SPDX-License-Identifier: Apache-2.0
// path.h - where the file lies, who else could write there, and making what is missing.
#pragma once
#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "base/fd.h"
#include "core/findings.h"
#include "stores/sqlite/probe.h"

namespace holdfast::sqlite {

// The path from the root, by today's working directory.
std::string absolute(const std::string& path);

// Makes the folder and the empty file where they are missing (0700, 0600; 0660 in a folder shared by a group)
// and returns the one name of the file: its folder without symbolic links, so that every way to it leads to
// the same folder PATH.d.
//
// Throws Failure; Errc::refused for a file that is not to be trusted, and for a place with dangers that are
// not accepted (findings.h).  Nothing is made then.
std::string make_file(const std::string& path, const Machine& machine, const core::Accepted& accepted);

// The folder it lies in, or as much of the way to it as there is, without symbolic links.  Throws Failure.
std::string folder_so_far(const std::string& path);

// -- who else could write what we trust
//
// Ours to trust is what belongs to us or to root and others may not write (a group may: that is for its owner
// to decide).  What belongs to somebody else is trusted only where it is shared on purpose: its group is one
// of ours, and it and its folder are writable by their groups and not by others.  Links are never followed:
// they lead where others choose.

struct ForeignFolder {
  std::string path;
  uid_t owner;
};

struct FolderProbe {
  std::string folder = {};
  std::uint32_t file_system = 0;              // as file_system_of() counts
  std::string open = {};                      // it or one above it that everybody may write; empty: none
  std::optional<ForeignFolder> foreign = {};  // it or one above it that belongs to another user
};
// REQUIRES: a path without symbolic links.
FolderProbe probe_folder(const std::string& folder, const Machine& machine);

struct FileProbe {
  std::string path = {}, folder = {};
  bool open = false;           // everybody may write it
  bool sticky_folder = false;  // everybody may put files beside it, as in /tmp
};
FileProbe probe_file(const std::string& path);

struct RoomProbe {
  int obstacle = 0;                         // obstacle_in()
  std::optional<std::uint64_t> bytes = {};  // left
  std::optional<std::uint64_t> files = {};  // left, where they are counted
};
RoomProbe probe_room(const std::string& folder);

// Why no file can be made in there, as errno(3) has it; zero: nothing is known to stand in the way.
int obstacle_in(const std::string& folder);

// The checks throw Errc::refused with the path, what is wrong, and what would be right.

// The file and what SQLite keeps beside it, as far as they exist.
void check_files(const std::string& path);

// The folder PATH.d, which exists.
void check_client_folder(const std::string& folder);

// Whether what is made there is for the group as well: a folder like 2770.
bool is_shared(const std::string& folder);

// Makes something for the group, whatever the umask says: under another name first, so that nobody finds it
// before its mode is right.  `make` makes it for us alone, and opens it: the mode is given to that, for
// somebody of the group may put a private file of ours in its place meanwhile.  Zero, or errno(3) of what
// failed: EEXIST if somebody was faster.
int make_shared_as(const std::string& path, mode_t mode,
                   const std::function<Fd(const std::string& name)>& make);

}  // namespace holdfast::sqlite
