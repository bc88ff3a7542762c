// SPDX-License-Identifier: Apache-2.0
#include "cli/setup/libraries.h"

#include <CLI/Version.hpp>
#include <nlohmann/json.hpp>
#include <utility>

#if __has_include(<curses.h>)
#include <curses.h>
#endif

#include "cli/setup/config_text.h"
#include "holdfast/spi/descriptor.h"

namespace holdfast::cli {
namespace {

std::string numbers(int major, int minor, int patch) {
  return std::to_string(major) + "." + std::to_string(minor) + "." + std::to_string(patch);
}

}  // namespace

std::vector<Library> libraries() {
  std::vector<Library> all;
  for (const StoreDescriptor& store : store_descriptors()) {
    if (store.libraries == nullptr) continue;
    for (StoreLibrary& library : store.libraries())
      all.push_back({std::string(store.name), std::move(library.name), std::move(library.version)});
  }
  all.push_back({"", "CLI11", CLI11_VERSION});
  all.push_back(
      {"", "nlohmann-json",
       numbers(NLOHMANN_JSON_VERSION_MAJOR, NLOHMANN_JSON_VERSION_MINOR, NLOHMANN_JSON_VERSION_PATCH)});
  all.push_back({"", "toml++", toml_version()});
#ifdef NCURSES_VERSION
  all.push_back({"", "ncurses", NCURSES_VERSION});
#endif
  return all;
}

std::string compiler() {
#ifdef __clang__
  return "clang " __clang_version__;
#else
  return "GCC " __VERSION__;
#endif
}

}  // namespace holdfast::cli
