// SPDX-License-Identifier: Apache-2.0
// statements.h - what a store asks again and again, for one set of tables.
#pragma once
#include "stores/postgres/connection.h"
#include "stores/postgres/tables.h"

namespace holdfast::postgres {

Statement statement(const char* name, std::string text);

// By the names of their files in sql/.
struct Statements {
  explicit Statements(const Tables& tables);

  Statement acquire, again, renew, release, apply, look, absent;
};

// How often each was run on one connection.
struct Uses {
  std::uint8_t acquire = 0, again = 0, renew = 0, release = 0, apply = 0, look = 0, absent = 0;
};

}  // namespace holdfast::postgres
