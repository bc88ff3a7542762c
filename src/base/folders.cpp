// SPDX-License-Identifier: Apache-2.0
#include "base/folders.h"

#include <pwd.h>
#include <unistd.h>

#include <array>
#include <cstdlib>

namespace holdfast {
namespace {

std::string home() {
  if (const char* home = ::secure_getenv("HOME"); home != nullptr && home[0] == '/') return home;
  std::array<char, 4096> space;
  passwd entry{};
  passwd* found = nullptr;
  ::getpwuid_r(::geteuid(), &entry, space.data(), space.size(), &found);
  return found != nullptr ? found->pw_dir : "/";
}

}  // namespace

std::string user_folder(const char* variable, const char* in_home) {
  const char* const given = ::secure_getenv(variable);
  if (given != nullptr && given[0] == '/') return given;
  return home() + "/" + in_home;
}

}  // namespace holdfast
