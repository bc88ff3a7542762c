// SPDX-License-Identifier: Apache-2.0
// engine.h - servers that Debian does not have: engines/fetch.sh put them into a folder of the user's cache.
#pragma once
#include <filesystem>
#include <string>

namespace holdfast::test {

// As fetch.sh reckons it.  The folder need not be there.
inline std::string engine_folder(const std::string& name) {
  const auto of = [](const char* variable) {
    const char* value = std::getenv(variable);
    return std::string(value == nullptr ? "" : value);
  };
  const std::string cache = of("XDG_CACHE_HOME");
  return (cache.empty() ? of("HOME") + "/.cache" : cache) + "/holdfast/" + name;
}

inline bool has_engine(const std::string& name) {
  std::error_code ignored;
  return std::filesystem::is_directory(engine_folder(name), ignored);
}

}  // namespace holdfast::test
