// SPDX-License-Identifier: Apache-2.0
// fence_file.h - the mark of a fenced file: the largest token that ever claimed it, kept in a sidecar file.
//
//   folder/report.csv           the fenced path: a file, a folder, or nothing yet
//   folder/.report.csv.fence    "holdfast-fence 0001763193600000000 000643a1c3e2c000\n"
//
// Holdfast creates the sidecar under another name, folder/.holdfast-fence.16-HEX, and renames it when the
// mark is inside.  An empty sidecar was therefore not made by Holdfast, and is refused.
//
// The line contains the token twice, decimal and hexadecimal: a line that was half written or edited by hand
// is recognised and refused.  The line is written in place, under a lock on the sidecar, and synced to the
// disk before claim() returns.  The lock is an OFD lock: it belongs to the open file and not to the process,
// so threads exclude each other, and a child that inherits the descriptor keeps the lock.
#pragma once
#include <string>

#include "base/fd.h"
#include "holdfast/clock.h"
#include "holdfast/result.h"
#include "holdfast/rows.h"

namespace holdfast {

// The rule of every fence: Errc::lost if `token` is older than the mark `seen`; Errc::invalid if it is not a
// token.  `what` names the fenced thing in the error.
Status check_claim(Token token, Token seen, const std::string& what);

// The path of the sidecar of `file`, in the same folder.  A symbolic link is refused, because it can be
// changed to a target that has no mark yet.  Folders above may be links, and all paths to one folder lead to
// one mark; a folder link that is changed leads to another file, with a mark of its own.  (Hard links are not
// resolved.)
Result<std::string> fence_path(const std::string& file);

// A successful claim.  Other claims on the same file wait until this object, and every copy of its descriptor
// that a child inherited, is closed.
class FenceFile {
 public:
  // Creates the sidecar if there is none, waits up to `wait` for the current claim to end (Errc::busy,
  // Errc::timeout), and raises the mark.  Errc::lost: the mark is a newer token.  Errc::refused: the sidecar
  // cannot be used; the text names it.
  static Result<FenceFile> claim(const std::string& file, Token token, Millis wait);

  int fd() const noexcept { return fd_.get(); }

 private:
  explicit FenceFile(Fd fd) : fd_(std::move(fd)) {}

  Fd fd_;
};

}  // namespace holdfast
