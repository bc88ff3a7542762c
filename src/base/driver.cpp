// SPDX-License-Identifier: Apache-2.0
#include "base/driver.h"

#include <dlfcn.h>

#include <cstring>
#include <string>

#include "base/text.h"

namespace holdfast {

Status Driver::load() {
  const std::lock_guard lock(mutex_);
  if (loaded_) return ok();
  void* const handle = ::dlopen(library_, RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    const char* const why = ::dlerror();
    return Error{Errc::refused, std::string("this store needs ") + library_ + ", which cannot be loaded (" +
                                    printable(why == nullptr ? "" : why) + "): install Debian's " + package_};
  }
  for (const DriverFunction& function : functions_) {
    void* const address = ::dlsym(handle, function.name);
    if (address == nullptr)
      return Error{Errc::refused, std::string("this store needs a newer ") + library_ + ": it has no " +
                                      function.name + "; install Debian's " + package_};
    std::memcpy(function.pointer, &address, sizeof address);
  }
  loaded_ = true;
  return ok();
}

}  // namespace holdfast
