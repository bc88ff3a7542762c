// SPDX-License-Identifier: Apache-2.0
// lock_visibility.h - whether locks and shared memory reach another process, found by trying with one.
#pragma once
#include <optional>
#include <string>

namespace holdfast::sqlite {

struct LockVisibility {
  bool locks = false;   // what one locks, the other cannot lock
  bool memory = false;  // what one writes into its map of the file, the other reads in its own
  int error = 0;        // files cannot be locked or mapped there at all, and why
};

// Between us and a child that opens its file anew.  Nothing: it could not be tried.
std::optional<LockVisibility> lock_visibility_between(int ours, int theirs);

// The same in a folder, with a file that is gone afterwards.
std::optional<LockVisibility> lock_visibility_in(const std::string& folder);

}  // namespace holdfast::sqlite
