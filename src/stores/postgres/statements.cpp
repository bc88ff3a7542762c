// SPDX-License-Identifier: Apache-2.0
#include "stores/postgres/statements.h"

#include "stores/postgres/sql/acquire.sql.h"
#include "stores/postgres/sql/again.sql.h"
#include "stores/postgres/sql/apply.sql.h"
#include "stores/postgres/sql/look.sql.h"
#include "stores/postgres/sql/release.sql.h"
#include "stores/postgres/sql/renew.sql.h"

namespace holdfast::postgres {

Statements::Statements(const Tables& tables)
    : acquire{"holdfast_acquire", tables.expand(acquire_sql)},
      again{"holdfast_again", tables.expand(again_sql)},
      renew{"holdfast_renew", tables.expand(renew_sql)},
      release{"holdfast_release", tables.expand(release_sql)},
      apply{"holdfast_apply", tables.expand(apply_sql)},
      look{"holdfast_look", tables.expand(look_sql)} {}

}  // namespace holdfast::postgres
