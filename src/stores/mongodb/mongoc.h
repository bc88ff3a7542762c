// SPDX-License-Identifier: Apache-2.0
// mongoc.h - libmongoc, which is loaded when it is first needed.
#pragma once
#include <mongoc/mongoc.h>

#include "holdfast/result.h"

namespace holdfast::mongodb {

// These hide libmongoc's own names: a call reads as it always does, and goes to what load_mongoc() has found.
#define FUNCTION(name) extern decltype(&::name) name;
#include "stores/mongodb/mongoc_functions.inc"
#undef FUNCTION

// REQUIRES: before any other use of it.  Any thread may call it.
Status load_mongoc();

}  // namespace holdfast::mongodb
