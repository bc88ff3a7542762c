// SPDX-License-Identifier: Apache-2.0
#include "stores/mongodb/mongoc.h"

#include <mutex>

#include "base/driver.h"
#include "stores/mongodb/mongoc_file.h"

namespace holdfast::mongodb {

#define FUNCTION(name) decltype(&::name) name = nullptr;
#include "stores/mongodb/mongoc_functions.inc"
#undef FUNCTION

Status load_mongoc() {
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  const NoMongocFile no_file;
  static Driver driver(mongoc_soname, "libmongoc-1.0-0",
                       {
#define FUNCTION(name) {#name, &name},
#include "stores/mongodb/mongoc_functions.inc"
#undef FUNCTION
                       });
  if (Status s = driver.load(); !s) return s;
  static std::once_flag once;
  std::call_once(once, [] {
    // Our errors say it, without addresses that hold a password.  Before the start, which may have words too.
    mongoc_log_set_handler(nullptr, nullptr);
    mongoc_init();
  });
  return Status{};
}

}  // namespace holdfast::mongodb
