// SPDX-License-Identifier: Apache-2.0
#include "stores/postgres/driver.h"

#include "base/driver.h"

namespace holdfast::postgres {

#define HOLDFAST_DEFINE(name) decltype(&::name) name = nullptr;
HOLDFAST_LIBPQ(HOLDFAST_DEFINE, HOLDFAST_DEFINE)
#undef HOLDFAST_DEFINE

Status load_libpq() {
#define HOLDFAST_FIND(name) {#name, &name},
#define HOLDFAST_FIND_NEWER(name) {#name, &name, true},
  static Driver driver(libpq_soname, "libpq5", {HOLDFAST_LIBPQ(HOLDFAST_FIND, HOLDFAST_FIND_NEWER)});
#undef HOLDFAST_FIND_NEWER
#undef HOLDFAST_FIND
  return driver.load();
}

}  // namespace holdfast::postgres
