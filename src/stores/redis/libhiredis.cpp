// SPDX-License-Identifier: Apache-2.0
#include "stores/redis/libhiredis.h"

#include "base/driver.h"

namespace holdfast::redis {

#define FUNCTION(name) decltype(&::name) name = nullptr;
#include "stores/redis/libhiredis_functions.inc"
#undef FUNCTION

// Of the header: what lies in memory has changed between its versions.
#define TEXT(word) #word
#define SONAME(number) TEXT(number)

Status load_libhiredis() {
  static Driver driver("libhiredis.so." SONAME(HIREDIS_SONAME), "libhiredis" SONAME(HIREDIS_SONAME),
                       {
#define FUNCTION(name) {#name, &name},
#include "stores/redis/libhiredis_functions.inc"
#undef FUNCTION
                       });
  return driver.load();
}

}  // namespace holdfast::redis
