// SPDX-License-Identifier: Apache-2.0
// grade.h - how far a store's leases can be trusted: its class, A to D.
#pragma once
#include <span>

#include "holdfast/rows.h"

namespace holdfast::core {

// `best` is what such a store is when nothing is wrong with it.  A warning makes it C, a danger D.
char grade_of(char best, std::span<const Finding> findings) noexcept;

}  // namespace holdfast::core
