// SPDX-License-Identifier: Apache-2.0
// driver.h - a database's client library, loaded by the first store that asks for it.
//
// libpq and libmongoc bring thirty libraries along, which cost a program more at its start than a lease on
// the embedded store does.  Who does not name such a store does not pay, and need not even have them
// installed.
#pragma once
#include <mutex>
#include <utility>
#include <vector>

#include "holdfast/result.h"

namespace holdfast {

struct DriverFunction {
  const char* name;
  void* pointer;          // to a pointer to such a function, which is set
  bool optional = false;  // older versions lack it: the pointer is left alone
};

class Driver {
 public:
  // `library` is a soname ("libpq.so.5"), `package` what has it in Debian.
  Driver(const char* library, const char* package, std::vector<DriverFunction> functions)
      : library_(library), package_(package), functions_(std::move(functions)) {}

  // Once; any thread may ask.  It stays loaded.  Errc::refused if it is not installed, or lacks a function;
  // Errc::unavailable where descriptors or memory have run out.
  Status load();

 private:
  const char* const library_;
  const char* const package_;
  const std::vector<DriverFunction> functions_;
  std::mutex mutex_;
  bool loaded_ = false;
};

}  // namespace holdfast
