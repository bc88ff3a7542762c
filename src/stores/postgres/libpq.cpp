// SPDX-License-Identifier: Apache-2.0
#include "stores/postgres/libpq.h"

#include "base/driver.h"

namespace holdfast::postgres {

#define FUNCTION(name) decltype(&::name) name = nullptr;
#define NEWER(name) FUNCTION(name)
#include "stores/postgres/libpq_functions.inc"
#undef NEWER
#undef FUNCTION

Status load_libpq() {
  static Driver driver(libpq_soname, "libpq5",
                       {
#define FUNCTION(name) {#name, &name},
#define NEWER(name) {#name, &name, true},
#include "stores/postgres/libpq_functions.inc"
#undef NEWER
#undef FUNCTION
                       });
  return driver.load();
}

}  // namespace holdfast::postgres
