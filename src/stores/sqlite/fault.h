// SPDX-License-Identifier: Apache-2.0
// fault.h - what SQLite's result codes mean to a caller of ours.
#pragma once
#include <cstdint>
#include <string>

#include "holdfast/result.h"

namespace holdfast::sqlite {

// How far the transaction had come.
enum class During : std::uint8_t {
  begin,   // nothing was asked yet
  work,    // it is rolled back: nothing was applied
  commit,  // a failure to write may have come after the write, unless there was no room for it
};

struct Trouble {
  int code = 0;          // SQLite's, extended
  int system_errno = 0;  // why a file could not be opened, read or written; zero: not known
  std::string text;      // SQLite's words
};

// Another process was writing, or had not finished starting up: the same call may succeed a moment later.
bool is_busy(int code) noexcept;

// `what` could not be done, by the system's word: Errc::unavailable for what may pass (a full disk, no
// descriptors), Errc::refused for what somebody has to change (permission, read-only).
Error system_error(const std::string& what, int error);

Error to_error(const Trouble& trouble, During during, const std::string& path);

}  // namespace holdfast::sqlite
