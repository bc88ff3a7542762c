// SPDX-License-Identifier: Apache-2.0
// mongoc_file.h - the file that MongoDB's driver leaves behind.
#pragma once
#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

#include <string>

namespace holdfast {

inline constexpr const char* mongoc_soname = "libmongoc-1.0.so.0";

// Debian's libmongoc starts itself when it is loaded, and counts in a file of shared memory named after the
// pid.  A process that is killed leaves it behind, and the next one with that pid complains on stderr: so it
// is removed before and after.  If somebody loaded the library before us, they may want the file.
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

}  // namespace holdfast
