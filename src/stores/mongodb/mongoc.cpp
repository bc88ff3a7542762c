// SPDX-License-Identifier: Apache-2.0
#include "stores/mongodb/mongoc.h"

#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

#include <mutex>
#include <string>

#include "base/driver.h"

namespace holdfast::mongodb {
namespace {

constexpr const char* soname = "libmongoc-1.0.so.0";

// Debian's libmongoc starts itself when it is loaded, and counts in a file of shared memory named after the
// pid.  A process that is killed leaves it behind, and the next one with that pid complains on stderr: so it
// is removed before and after.  If somebody loaded the library before us, they may want the file.
class NoCounters {
 public:
  NoCounters() { remove(); }
  ~NoCounters() { remove(); }
  NoCounters(const NoCounters&) = delete;
  NoCounters& operator=(const NoCounters&) = delete;

 private:
  void remove() const {
    if (ours_) ::shm_unlink(("/mongoc-" + std::to_string(::getpid())).c_str());
  }
  static bool is_loaded() {
    void* const library = ::dlopen(soname, RTLD_NOW | RTLD_NOLOAD);
    if (library != nullptr) ::dlclose(library);
    return library != nullptr;
  }
  const bool ours_ = !is_loaded();
};

}  // namespace

#define FUNCTION(name) decltype(&::name) name = nullptr;
#include "stores/mongodb/mongoc_functions.inc"
#undef FUNCTION

Status load_mongoc() {
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  const NoCounters no_counters;
  static Driver driver(soname, "libmongoc-1.0-0",
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
  return ok();
}

}  // namespace holdfast::mongodb
