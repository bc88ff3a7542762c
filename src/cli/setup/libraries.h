// SPDX-License-Identifier: Apache-2.0
// libraries.h - what this command is made of.
#pragma once
#include <string>
#include <vector>

namespace holdfast::cli {

struct Library {
  std::string store;    // whose driver it is; empty: it is part of the command
  std::string name;     // of the library
  std::string version;  // of the one that is here; empty: it is not installed
};

// The drivers of the stores that were built, then the rest.  Loads every driver.
std::vector<Library> libraries();

// "GCC 12.2.0".
std::string compiler();

}  // namespace holdfast::cli
