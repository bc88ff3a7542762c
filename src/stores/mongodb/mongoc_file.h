// SPDX-License-Identifier: Apache-2.0
// mongoc_file.h - removes the shared memory file of MongoDB's driver.
#pragma once
#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

#include <string>

namespace holdfast::mongodb {

inline constexpr const char* mongoc_soname = "libmongoc-1.0.so.0";

// When Debian's libmongoc is loaded, it creates a file of shared memory for its counters, named after the
// pid.  A process that is killed leaves the file behind, and the next process with that pid prints a warning
// on stderr. So the file is removed before and after loading.  If the program had loaded the library before,
// it may use the file, and it is not removed.
class NoMongocFile {
 public:
  NoMongocFile() { remove(); }
  ~NoMongocFile() { remove(); }
  NoMongocFile(const NoMongocFile&) = delete;
  NoMongocFile& operator=(const NoMongocFile&) = delete;

 private:
  void remove() const {
    if (ours_) ::shm_unlink(("/mongoc-" + std::to_string(::getpid())).c_str());
  }
  static bool is_loaded() {
    void* const library = ::dlopen(mongoc_soname, RTLD_NOW | RTLD_NOLOAD);
    if (library != nullptr) ::dlclose(library);
    return library != nullptr;
  }
  const bool ours_ = !is_loaded();
};

}  // namespace holdfast::mongodb
