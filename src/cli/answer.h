// SPDX-License-Identifier: Apache-2.0
// answer.h - whether what was said on stdout has got there.
#pragma once
#include "holdfast/result.h"

namespace holdfast::cli {

// Fills what is missing of 0, 1 and 2: the next thing we open would take its place, and CMD would write its
// output into our database.  An answer to a stdout that was closed fails, as it would without this.
void fill_standard_descriptors();

// The stdout that was closed takes whatever is written, for a CMD that never asked whether it is open.
void let_stdout_take_all();

// Of what say() wrote to stdout: whether the system took it.
void note_written(bool written);

// All that was said is written now.  Errc::refused if it could not be; the reason is that of the first time.
Status answered();

// Why an answer could not be written.
Error unwritten(int error);

}  // namespace holdfast::cli
