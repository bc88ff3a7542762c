// SPDX-License-Identifier: Apache-2.0
// version.h - the version of Holdfast.
#pragma once
#include "holdfast/export.h"

#define HOLDFAST_VERSION_MAJOR 0
#define HOLDFAST_VERSION_MINOR 1
#define HOLDFAST_VERSION_PATCH 0

namespace holdfast {

// "0.1.0": the version of the library that was linked.  The macros are the version of the header.
HOLDFAST_API const char* version() noexcept;

}  // namespace holdfast
