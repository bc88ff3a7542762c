// SPDX-License-Identifier: Apache-2.0
// fence.h - the other half of a token: what a lease protects refuses holders that come too late.
//
// A lease says who should write.  A holder that was paused after it looked, and before it wrote, writes when
// it should not; only what it writes to can stop it.  So the thing itself, or whoever serves it, keeps a
// FenceGuard, and every holder shows the token of its lease:
//
//   holdfast::FenceGuard fence;                        // lives beside the thing: one guard, one thing
//
//   auto pass = fence.enter(lease.token());            // 1. claim: from now on all older holders are refused
//   auto text = thing.read();                          // 2. only then read
//   thing.write(changed(text));                        // 3. and write
//
// **Claim before you read.**  Who reads first and claims when it writes can overwrite what an older holder
// wrote between the two: that one was not refused, for nobody had claimed yet.
//
// The same for resources that are no C++: docs/guides/fencing-a-resource.md and `holdfast fence`.
#pragma once
#include <memory>
#include <string>

#include "holdfast/clock.h"
#include "holdfast/export.h"
#include "holdfast/options.h"
#include "holdfast/result.h"
#include "holdfast/rows.h"

namespace holdfast {

// Keeps the mark, the largest token it has seen, and lets nobody in with a smaller one.  Equal passes: that
// is the same holder coming again.  Any thread may call.  Tokens are those of one key: marks of different
// keys cannot be compared.  A copy is the same guard.
class HOLDFAST_API FenceGuard {
 public:
  class Pass;

  // The mark is in memory and ends with the guard: for what ends with it too.
  FenceGuard();

  // The mark lies beside `file`, in `.NAME.fence`, and outlives us, the machine's crash and any program that
  // writes the file.  It is the mark of `holdfast fence FILE TOKEN -- CMD`: both guard one file together, and
  // so do all processes that can reach it.  `file` may be a folder, or not exist yet, and is no symbolic
  // link; any name will do, if only the mark is wanted.  Claims wait for the disk.
  static FenceGuard beside(std::string file);

  // Claims, and keeps everybody else out until the pass is gone: an older holder that comes meanwhile waits
  // and is then refused, a younger one waits.  Throws LeaseLost for a token that is too old: the work must
  // stop. Waits for a pass of its own too: one thread enters once.
  Pass enter(Token token, Wait wait = forever);
  // Errors: lost, too old; busy or timeout, somebody is inside; refused, the file cannot be used; invalid, no
  // token.
  Result<Pass> try_enter(Token token, Wait wait = forever);

  // Enters and leaves at once: for what checks each single message or write, and cannot be overtaken between
  // the check and the effect.  False: too old.  Throws Failure where the file cannot be used.
  bool admits(Token token);

 private:
  struct Mark;
  explicit FenceGuard(std::shared_ptr<Mark> mark);

  std::shared_ptr<Mark> mark_;
};

// Somebody is inside.  Leaves with its end; may outlive its guard.
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
