// SPDX-License-Identifier: Apache-2.0
#include "base/driver.h"

#include <dlfcn.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "base/text.h"

namespace holdfast {
namespace {

// Whether a later attempt may succeed.  dlopen() gives the reason only as text.
bool may_pass(const std::string& why) {
  return why.ends_with(std::strerror(EMFILE)) || why.ends_with(std::strerror(ENFILE)) ||
         why.ends_with(std::strerror(ENOMEM));
}

}  // namespace

Status Driver::load() {
  const std::lock_guard lock(mutex_);
  if (loaded_) return Status{};
  void* const handle = ::dlopen(library_, RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    const char* const reason = ::dlerror();
    const std::string why = printable(reason == nullptr ? "dlopen() gave no reason" : reason);
    if (may_pass(why)) return Error{Errc::unavailable, std::string("cannot load ") + library_ + ": " + why};
    return Error{Errc::refused, std::string("cannot load ") + library_ + ", which this store needs: " + why +
                                    "; install Debian's package " + package_};
  }
  for (const DriverFunction& function : functions_) {
    void* const address = ::dlsym(handle, function.name);
    if (address == nullptr && function.optional) continue;
    if (address == nullptr)
      return Error{Errc::refused, std::string(library_) + " is too old for this store: it has no function " +
                                      function.name + "; install a newer version of Debian's package " +
                                      package_};
    std::memcpy(function.pointer, &address, sizeof address);
  }
  loaded_ = true;
  return Status{};
}

}  // namespace holdfast
