// SPDX-License-Identifier: Apache-2.0
// libhiredis.h - hiredis, which is loaded when it is first needed.
#pragma once
#include <hiredis/hiredis.h>

#include <string>

#include "holdfast/result.h"

namespace holdfast::redis {

// These hide hiredis's own names: a call reads as it always does, and goes to what load_libhiredis() has
// found.
#define FUNCTION(name) extern decltype(&::name) name;
#include "stores/redis/libhiredis_functions.inc"
#undef FUNCTION

// REQUIRES: before any other use of it.  Any thread may call it.
Status load_libhiredis();

// Of the one that is installed; empty: none is.
std::string hiredis_version();

}  // namespace holdfast::redis
