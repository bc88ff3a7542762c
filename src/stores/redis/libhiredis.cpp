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
constexpr const char* soname = "libhiredis.so." SONAME(HIREDIS_SONAME);

Status load_libhiredis() {
  static Driver driver(soname, "libhiredis" SONAME(HIREDIS_SONAME),
                       {
#define FUNCTION(name) {#name, &name},
#include "stores/redis/libhiredis_functions.inc"
#undef FUNCTION
                       });
  return driver.load();
}

// It does not tell its version; a library of that name has the header's.
std::string hiredis_version() {
  void* some = nullptr;
  Driver driver(soname, "", {{"redisConnectWithOptions", &some, true}});
  if (!driver.load()) return "";
  return std::to_string(HIREDIS_MAJOR) + "." + std::to_string(HIREDIS_MINOR) + "." +
         std::to_string(HIREDIS_PATCH);
}

}  // namespace holdfast::redis
