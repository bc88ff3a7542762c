// SPDX-License-Identifier: Apache-2.0
#include "stores/mariadb/libmariadb.h"

#include <mutex>

#include "base/driver.h"

namespace holdfast::mariadb {

#define FUNCTION(name) decltype(&::name) name = nullptr;
#include "stores/mariadb/libmariadb_functions.inc"
#undef FUNCTION

Status load_libmariadb() {
  static Driver driver("libmariadb.so.3", "libmariadb3",
                       {
#define FUNCTION(name) {#name, &name},
#include "stores/mariadb/libmariadb_functions.inc"
#undef FUNCTION
                       });
  if (Status s = driver.load(); !s) return s;
  static std::once_flag once;
  std::call_once(once, [] { mysql_server_init(0, nullptr, nullptr); });
  return ok();
}

}  // namespace holdfast::mariadb
