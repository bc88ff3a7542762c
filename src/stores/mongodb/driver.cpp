// SPDX-License-Identifier: Apache-2.0
#include "stores/mongodb/driver.h"

#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

#include <mutex>
#include <string>

#include "base/driver.h"

namespace holdfast::mongodb {
namespace {

bool is_loaded() {
  void* const library = ::dlopen(mongoc_soname, RTLD_NOW | RTLD_NOLOAD);
  if (library != nullptr) ::dlclose(library);
  return library != nullptr;
}

}  // namespace

#define HOLDFAST_DEFINE(name) decltype(&::name) name = nullptr;
HOLDFAST_MONGOC(HOLDFAST_DEFINE)
#undef HOLDFAST_DEFINE

NoMongocFile::NoMongocFile() : ours_(!is_loaded()) { remove(); }

void NoMongocFile::remove() const {
  if (ours_) ::shm_unlink(("/mongoc-" + std::to_string(::getpid())).c_str());
}

Status load_mongoc() {
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  const NoMongocFile no_file;
#define HOLDFAST_FIND(name) {#name, &name},
  static Driver driver(mongoc_soname, "libmongoc-1.0-0", {HOLDFAST_MONGOC(HOLDFAST_FIND)});
#undef HOLDFAST_FIND
  if (Status s = driver.load(); !s) return s;
  static std::once_flag once;
  std::call_once(once, [] {
    // Holdfast's errors say it without addresses, which can contain a password.  mongoc_init() may log too.
    mongoc_log_set_handler(nullptr, nullptr);
    mongoc_init();
  });
  return Status{};
}

}  // namespace holdfast::mongodb
