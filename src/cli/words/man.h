// SPDX-License-Identifier: Apache-2.0
// man.h - the pages of `holdfast help` for man(1).
#pragma once
#include <string>

#include "cli/words/table.h"

namespace holdfast::cli {

// In the words of man(7): holdfast(1), holdfast-run(1), holdfast-jobs-ls(1).
std::string man_page(const Table& table, const CommandEntry& command);

}  // namespace holdfast::cli
