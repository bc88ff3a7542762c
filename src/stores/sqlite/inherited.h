// SPDX-License-Identifier: Apache-2.0
// inherited.h - opening a file in a forked child of a process that has it open.
#pragma once
#include <string>

namespace holdfast::sqlite {

// SQLite remembers per file what this process has locked, in memory that a child inherits; the locks
// themselves are not inherited.  A child that opens the file again is believed to have the two locks that
// say "somebody uses this file" and has neither.  When its parent goes, the next process to open the file
// finds it deserted and starts its shared memory anew, under the child's feet: SIGBUS.
//
// So the child takes those two locks itself, on the descriptors that it has inherited.  Does nothing in a
// process that has them, or does not have the file open.  A child that was forked in the middle of another
// thread's transaction may still find the file busy for ever; it should exec, or open before the others.
void own_inherited_locks(const std::string& path);

}  // namespace holdfast::sqlite
