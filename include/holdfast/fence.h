// SPDX-License-Identifier: Apache-2.0
// fence.h - fencing: the resource that a lease protects refuses a holder that comes too late.
//
// A lease says who should write.  If a holder is paused after it has checked its lease and before it writes,
// it writes when it should not.  Only the resource can prevent that.  So the program that serves the resource
// keeps a FenceGuard, and every holder passes the token of its lease:
//
//   holdfast::FenceGuard fence;                        // lives beside the thing: one guard, one thing
//
//   auto pass = fence.enter(lease.token());            // 1. claim: from now on all older holders are refused
//   auto text = thing.read();                          // 2. only then read
//   thing.write(changed(text));                        // 3. and write
//
// **Claim before you read.**  A holder that reads first, and claims only when it writes, can overwrite what
// an older holder wrote in between: the older holder was not refused, because nobody had claimed yet.
//
// For resources that are not served by C++: docs/guides/fencing-a-resource.md and `holdfast fence`.
#pragma once
#include <memory>
#include <string>

#include "holdfast/clock.h"
#include "holdfast/export.h"
#include "holdfast/options.h"
#include "holdfast/result.h"
#include "holdfast/rows.h"

namespace holdfast {

// Remembers the largest token it has seen, the mark, and refuses smaller ones.  An equal token is accepted:
// it is the same holder again.  Any thread may call any function.  Use a guard for the tokens of one key
// only: tokens of different keys cannot be compared.  A copy is the same guard.
class HOLDFAST_API FenceGuard {
 public:
  class Pass;

  // The mark is in memory and ends with the guard.  Use it for resources that also end with the guard.
  FenceGuard();

  // The mark is in a file beside `file`, `.NAME.fence`.  It outlives this process, a crash of the machine and
  // any program that writes the file.  `holdfast fence FILE TOKEN -- CMD` uses the same mark, so the command
  // and all processes that can reach the file guard it together.  `file` may be a folder, or not exist yet;
  // it must not be a symbolic link.  If you need only the mark, use any name.  Claims wait until the mark is
  // on disk.
  static FenceGuard beside(std::string file);

  // Claims, and keeps all others out until the pass is destroyed.  An older holder that comes meanwhile waits
  // and is then refused; a younger one waits.  Throws LeaseLost if the token is too old: the work must stop.
  // It also waits for a pass of the same thread: enter only once.
  Pass enter(Token token, Wait wait = forever);
  // Errors: lost: the token is too old; busy or timeout: somebody else has a pass; refused: the file cannot
  // be used; invalid: the token is zero.
  Result<Pass> try_enter(Token token, Wait wait = forever);

  // Enters and leaves at once.  Use it to check single messages or writes, if nothing can happen between the
  // check and the effect.  False: the token is too old.  Throws Failure if the file cannot be used.
  bool admits(Token token);

 private:
  struct Mark;
  explicit FenceGuard(std::shared_ptr<Mark> mark);

  std::shared_ptr<Mark> mark_;
};

// Keeps all others out until it is destroyed.  It may outlive its guard.
class HOLDFAST_API FenceGuard::Pass {
 public:
  Pass(Pass&&) noexcept;
  Pass& operator=(Pass&&) = delete;
  ~Pass();

  Token token() const noexcept { return token_; }

 private:
  friend class FenceGuard;
  struct Inside;
  Pass(Token token, std::unique_ptr<Inside> inside);

  Token token_;
  std::unique_ptr<Inside> inside_;
};

}  // namespace holdfast
