// SPDX-License-Identifier: Apache-2.0
// libpq.h - libpq, which is loaded when it is first needed, and what it gives out, with one owner each.
#pragma once
#include <libpq-fe.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "holdfast/result.h"

namespace holdfast::postgres {

// These hide libpq's own names: a call reads as it always does, and goes to what load_libpq() has found.
#define FUNCTION(name) extern decltype(&::name) name;
#define NEWER(name) FUNCTION(name)
#include "stores/postgres/libpq_functions.inc"
#undef NEWER
#undef FUNCTION

// REQUIRES: before any other use of it.  Any thread may call it.
Status load_libpq();
inline constexpr const char* libpq_soname = "libpq.so.5";

template <auto* free>
struct Freed {
  template <class T>
  void operator()(T* pointer) const noexcept {
    (*free)(pointer);
  }
};

using OwnedConnection = std::unique_ptr<PGconn, Freed<&PQfinish>>;
using OwnedResult = std::unique_ptr<PGresult, Freed<&PQclear>>;
using OwnedOptions = std::unique_ptr<PQconninfoOption, Freed<&PQconninfoFree>>;
using OwnedNotice = std::unique_ptr<PGnotify, Freed<&PQfreemem>>;

// Words as PQconnectStartParams takes them.  `words` must outlive this.
class Keywords {
 public:
  explicit Keywords(const std::vector<std::pair<std::string, std::string>>& words) {
    for (const auto& [name, value] : words) {
      names_.push_back(name.c_str());
      values_.push_back(value.c_str());
    }
    names_.push_back(nullptr);
    values_.push_back(nullptr);
  }
  const char* const* names() const noexcept { return names_.data(); }
  const char* const* values() const noexcept { return values_.data(); }

 private:
  std::vector<const char*> names_, values_;
};

}  // namespace holdfast::postgres
