// SPDX-License-Identifier: Apache-2.0
// driver.h - a database's client library, loaded when the first store needs it.
//
// Such a library may load thirty others, which delays the start of a program by more than a lease on the
// embedded store takes.  A program that uses no such store does not load them, and they need not be
// installed.
#pragma once
#include <mutex>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "holdfast/result.h"

namespace holdfast {

struct DriverFunction {
  const char* name;
  void* pointer;          // the address of a function pointer; load() sets it
  bool optional = false;  // if the library lacks it, the pointer is not set
};

class Driver {
 public:
  // `library` is a soname ("libpq.so.5"), `package` the Debian package that contains it.
  Driver(const char* library, const char* package, std::vector<DriverFunction> functions)
      : library_(library), package_(package), functions_(std::move(functions)) {}

  // Loads the library on the first call; it stays loaded.  Any thread may call it.  Errc::refused if it is
  // not installed or lacks a function; Errc::unavailable if the process is out of descriptors or memory.
  Status load();

 private:
  const char* const library_;
  const char* const package_;
  const std::vector<DriverFunction> functions_;
  std::mutex mutex_;
  bool loaded_ = false;
};

// What one function of a library returns; nothing if the library is not installed or lacks the function.
template <class Function, class... Args>
auto call_driver(const char* library, const char* name, Args... args)
    -> std::optional<std::invoke_result_t<Function, Args...>> {
  Function function = nullptr;
  Driver driver(library, "", {{name, &function}});
  if (!driver.load()) return std::nullopt;
  return function(args...);
}

// Such an answer for people; empty: there is none.
inline std::string text_or_empty(std::optional<const char*> answer) {
  return answer && *answer != nullptr ? *answer : "";
}

}  // namespace holdfast
