// SPDX-License-Identifier: Apache-2.0
// table.h - the keys of `top` in columns, as many as there is room for.
#pragma once
#include "cli/top/screen.h"

namespace holdfast::cli {

// The heading, and then those rows of the model from `first` on that fit; the chosen one stands out.
std::vector<ScreenLine> table_of(const Model& model, std::size_t rows, std::size_t columns, Moment now);

// A holder that should have renewed by now (a third of the ttl has gone by, and a little more), and one that
// will lose its lease unless it does soon (two thirds).
Style style_of_lag(const TopRow& row) noexcept;

}  // namespace holdfast::cli
