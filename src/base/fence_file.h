// SPDX-License-Identifier: Apache-2.0
// fence_file.h - the mark of a file: the largest token that was ever let at it, in a sidecar beside it.
//
//   folder/report.csv           what is fenced: a file, a folder, or nothing yet
//   folder/.report.csv.fence    "holdfast-fence 0001763193600000000 000643a1c3e2c000\n"
//
// It is made under another name, folder/.holdfast-fence.16-HEX, and comes into its place with the mark inside
// or not at all: an empty file that is found there is somebody else's, and is refused.
//
// The number stands there twice, decimal and hexadecimal: a line that was torn or typed is found out and
// refused, never believed.  It is written in place, under a lock on the sidecar (an OFD lock: the open
// file's, not the process's, so that threads exclude each other, and whoever inherits the descriptor holds on
// to it), and is on the disk before anyone who claimed is told so.
#pragma once
#include <string>

#include "base/fd.h"
#include "holdfast/clock.h"
#include "holdfast/result.h"
#include "holdfast/rows.h"

namespace holdfast {

// What a guard of any kind says.  Nothing: the token may claim over that mark.
Status check_claim(Token token, Token seen, const std::string& what);

// Where the mark of `file` lies: beside its name.  A symbolic link is refused, for it can be switched to what
// has no mark yet.  Folders above may be links, and all ways to one folder have one mark; a folder link that
// is switched leads to another file, with a mark of its own.  (Hard links are not seen through.)
Result<std::string> fence_path(const std::string& file);

// A claim that was let in.  Until this object, and every copy of its descriptor that a child inherited, is
// closed, no other claim on the same file is answered.
class FenceFile {
 public:
  // Makes the sidecar if there is none; waits so long for whoever is inside (Errc::busy, Errc::timeout);
  // raises the mark.  Errc::lost: it has seen a younger token.  Errc::refused: the sidecar cannot be used,
  // the text names it.
  static Result<FenceFile> claim(const std::string& file, Token token, Millis wait);

  int fd() const noexcept { return fd_.get(); }

 private:
  explicit FenceFile(Fd fd) : fd_(std::move(fd)) {}

  Fd fd_;
};

}  // namespace holdfast
