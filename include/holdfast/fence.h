// SPDX-License-Identifier: Apache-2.0
// fence.h - checks tokens: the resource that a lease protects refuses holders that come too late.
//
// A holder can be paused between its check of the lease and its write.  When it wakes, the lease may be lost,
// and only the resource can refuse the write.  So the resource, or the program that serves it, keeps a
// FenceGuard, and every holder passes the token of its lease:
//
//   holdfast::FenceGuard fence;                        // lives beside the thing: one guard, one thing
//
//   auto pass = fence.enter(lease.token());            // 1. claim: from now on all older holders are refused
//   auto text = thing.read();                          // 2. only then read
//   thing.write(changed(text));                        // 3. and write
//
// **Claim before you read.**  A holder that reads first and claims when it writes can overwrite what an older
// holder wrote between the two: the older one was not refused, because the newer one had not claimed yet.
//
// For resources outside C++: docs/guides/fencing-a-resource.md and `holdfast fence`.
#pragma once
#include <memory>
#include <string>

#include "holdfast/clock.h"
#include "holdfast/export.h"
#include "holdfast/options.h"
#include "holdfast/result.h"
#include "holdfast/rows.h"

namespace holdfast {

// Keeps the mark, which is the largest token so far, and refuses smaller tokens.  An equal token passes: it
// is the same holder again.  Any thread may call it.  Use one guard for the tokens of one key only: tokens of
// different keys cannot be compared.  A copy is the same guard.
class HOLDFAST_API FenceGuard {
 public:
  class Pass;

  // The mark is in memory and ends with the guard: for a resource that ends with it too.
  FenceGuard();

  // The mark is in the file `.NAME.fence` beside `file`.  It survives the process, a crash of the machine and
  // every program that writes `file`.  `holdfast fence FILE TOKEN -- CMD` uses the same mark, and so do all
  // processes that can reach the file.  `file` may be a folder or not exist yet; it must not be a symbolic
  // link.  If only the mark is wanted, any name will do.  Claims wait for the disk.
  static FenceGuard beside(std::string file);

  // Claims, and excludes all others until the pass is destroyed: they wait, and older holders are then
  // refused.  Throws LeaseLost for a token that is too old: then the work must stop.  A thread that has a
  // pass must not enter again: it would wait for itself.
  Pass enter(Token token, Wait wait = forever);
  // Errors: lost, the token is too old; busy or timeout, another holder has a pass; refused, the file cannot
  // be used; invalid, it is not a token.
  Result<Pass> try_enter(Token token, Wait wait = forever);

  // Enters and leaves at once: for a resource that checks each message or write, and where nothing can come
  // between the check and the effect.  False: the token is too old.  Throws Failure if the file cannot be
  // used.
  bool admits(Token token);

 private:
  struct Mark;
  explicit FenceGuard(std::shared_ptr<Mark> mark);

  std::shared_ptr<Mark> mark_;
};

// A successful claim.  It ends when this object is destroyed, which may be after the guard.
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
