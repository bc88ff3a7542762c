// SPDX-License-Identifier: Apache-2.0
// version.h - which Holdfast this is.
#pragma once
#include "holdfast/export.h"

#define HOLDFAST_VERSION_MAJOR 0
#define HOLDFAST_VERSION_MINOR 1
#define HOLDFAST_VERSION_PATCH 0

namespace holdfast {

// "0.1.0".  Of the library that was linked; the macros are of the header that was compiled.
HOLDFAST_API const char* version() noexcept;

}  // namespace holdfast
