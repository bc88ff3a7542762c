// SPDX-License-Identifier: Apache-2.0
#include "stores/mariadb/driver.h"

#include <csignal>
#include <mutex>
#include <string>

#include "base/driver.h"

namespace holdfast::mariadb {

#define FUNCTION(name) decltype(&::name) name = nullptr;
#include "stores/mariadb/driver_functions.inc"
#undef FUNCTION

Status load_libmariadb() {
  static Driver driver(libmariadb_soname, "libmariadb3",
                       {
#define FUNCTION(name) {#name, &name},
#include "stores/mariadb/driver_functions.inc"
#undef FUNCTION
                       });
  if (Status s = driver.load(); !s) return s;
  static std::mutex mutex;
  static bool ready = false;
  const std::lock_guard lock(mutex);
  if (ready) return Status{};
  // It ignores SIGPIPE for the whole process, and needs not: its sockets ask for none.
  struct sigaction before {};
  ::sigaction(SIGPIPE, nullptr, &before);
  ready = mysql_server_init(0, nullptr, nullptr) == 0;
  ::sigaction(SIGPIPE, &before, nullptr);
  if (!ready)
    return Error{Errc::unavailable,
                 std::string("cannot set up ") + libmariadb_soname + ": mysql_server_init failed; try again"};
  return Status{};
}

}  // namespace holdfast::mariadb
