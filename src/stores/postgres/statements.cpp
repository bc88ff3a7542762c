// SPDX-License-Identifier: Apache-2.0
#include "stores/postgres/statements.h"

#include <functional>

#include "stores/postgres/sql/absent.sql.h"
#include "stores/postgres/sql/acquire.sql.h"
#include "stores/postgres/sql/again.sql.h"
#include "stores/postgres/sql/apply.sql.h"
#include "stores/postgres/sql/look.sql.h"
#include "stores/postgres/sql/release.sql.h"
#include "stores/postgres/sql/renew.sql.h"

namespace holdfast::postgres {

namespace {

// Named by what it says: behind a pooler that we do not notice, a name may have been given by somebody with
// another table.
Statement statement(const char* name, std::string text) {
  const std::size_t hash = std::hash<std::string>()(text);
  return {"holdfast_" + std::string(name) + "_" + std::to_string(hash), std::move(text)};
}

}  // namespace

Statements::Statements(const Tables& tables)
    : acquire(statement("acquire", tables.expand(acquire_sql))),
      again(statement("again", tables.expand(again_sql))),
      renew(statement("renew", tables.expand(renew_sql))),
      release(statement("release", tables.expand(release_sql))),
      apply(statement("apply", tables.expand(apply_sql))),
      look(statement("look", tables.expand(look_sql))),
      absent(statement("absent", tables.expand(absent_sql))) {}

}  // namespace holdfast::postgres
