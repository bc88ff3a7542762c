// SPDX-License-Identifier: Apache-2.0
#include "stores/mariadb/libmariadb.h"

#include <csignal>
#include <mutex>

#include "base/driver.h"

namespace holdfast::mariadb {

#define FUNCTION(name) decltype(&::name) name = nullptr;
#include "stores/mariadb/libmariadb_functions.inc"
#undef FUNCTION

Status load_libmariadb() {
  static Driver driver(libmariadb_soname, "libmariadb3",
                       {
#define FUNCTION(name) {#name, &name},
#include "stores/mariadb/libmariadb_functions.inc"
#undef FUNCTION
                       });
  if (Status s = driver.load(); !s) return s;
  static std::once_flag once;
  std::call_once(once, [] {
    // It ignores SIGPIPE for the whole process, and needs not: its sockets ask for none.
    struct sigaction before {};
    ::sigaction(SIGPIPE, nullptr, &before);
    mysql_server_init(0, nullptr, nullptr);
    ::sigaction(SIGPIPE, &before, nullptr);
  });
  return Status{};
}

}  // namespace holdfast::mariadb
