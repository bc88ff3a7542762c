// SPDX-License-Identifier: Apache-2.0
#include "stores/postgres/statements.h"

#include <functional>

#include "stores/postgres/compose.h"
#include "stores/postgres/sql/absent.sql.h"
#include "stores/postgres/sql/acquire.sql.h"
#include "stores/postgres/sql/again.sql.h"
#include "stores/postgres/sql/apply.sql.h"
#include "stores/postgres/sql/lookup.sql.h"
#include "stores/postgres/sql/release.sql.h"
#include "stores/postgres/sql/release_rule.sql.h"
#include "stores/postgres/sql/renew.sql.h"

namespace holdfast::postgres {
namespace {

std::string apply_text() { return compose(apply_sql, lease_rule("$9::text", "$10::bigint", "$11::bigint")); }

std::string release_text() {
  return compose(release_sql, {{"release", part(release_rule_sql)},
                               {"key", "$1::text"},
                               {"holder", "$2::text"},
                               {"token", "$3::bigint"},
                               {"from", ""},
                               {"if",
                                "set_config('lock_timeout', $4::bigint::text, true) IS NOT NULL AND l.xmin = "
                                "(SELECT s.xmin FROM {locks} AS s WHERE s.key::text = $1::text)"}});
}

}  // namespace

// Named by what it says: behind a pooler that we do not notice, a name may have been given by somebody with
// another table.
Statement statement(const char* name, std::string text) {
  const std::size_t hash = std::hash<std::string>()(text);
  return {"holdfast_" + std::string(name) + "_" + std::to_string(hash), std::move(text)};
}

Statements::Statements(const Tables& tables)
    : acquire(statement("acquire", tables.expand(acquire_sql))),
      again(statement("again", tables.expand(again_sql))),
      renew(statement("renew", tables.expand(renew_sql))),
      release(statement("release", tables.expand(release_text()))),
      apply(statement("apply", tables.expand(apply_text()))),
      look(statement("look", tables.expand(lookup_sql))),
      absent(statement("absent", tables.expand(absent_sql))) {}

}  // namespace holdfast::postgres
