// SPDX-License-Identifier: Apache-2.0
#include "stores/postgres/libpq.h"

#include "base/driver.h"

namespace holdfast::postgres {

#define FUNCTION(name) decltype(&::name) name = nullptr;
#include "stores/postgres/libpq_functions.inc"
#undef FUNCTION

Status load_libpq() {
  static Driver driver("libpq.so.5", "libpq5",
                       {
#define FUNCTION(name) {#name, &name},
#include "stores/postgres/libpq_functions.inc"
#undef FUNCTION
                       });
  return driver.load();
}

}  // namespace holdfast::postgres
