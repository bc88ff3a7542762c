// SPDX-License-Identifier: Apache-2.0
// small_file.h - a file that says what we are to do, and whether it may.
#pragma once
#include <sys/types.h>

#include <optional>
#include <string>

#include "holdfast/result.h"

namespace holdfast::cli {

struct SmallFile {
  std::string text;
  mode_t mode{};
  uid_t owner{};

  // Nobody but its owner may read or write it.
  bool is_private() const { return (mode & 077) == 0; }
};

// All of a regular file of at most 1 MiB.  None: it is not there, and no link says that it should be.  The
// error is Errc::refused and says only why.
Result<std::optional<SmallFile>> read_small_file(const std::string& path);

// Somebody but us and root could have written it: why, and what would be right.  Empty: nobody could.
std::string distrust(const SmallFile& file);

// Without blanks around it.
std::string first_line_of(const std::string& text);

}  // namespace holdfast::cli
