// SPDX-License-Identifier: Apache-2.0
// driver.h - libmariadb, which is loaded when it is first needed.
#pragma once
#include <mysql.h>

#include "holdfast/result.h"

namespace holdfast::mariadb {

// These hide libmariadb's own names: a call reads as it always does, and goes to what load_libmariadb() has
// found.
#define FUNCTION(name) extern decltype(&::name) name;
#include "stores/mariadb/driver_functions.inc"
#undef FUNCTION

// REQUIRES: before any other use of it.  Any thread may call it.
Status load_libmariadb();
inline constexpr const char* libmariadb_soname = "libmariadb.so.3";

}  // namespace holdfast::mariadb
