// SPDX-License-Identifier: Apache-2.0
// The statements of src/stores/postgres/*.sql, as a server reads them.
#include "stores/postgres/statements.h"

#include <gtest/gtest.h>

#include "tests/postgres/suite.h"

namespace holdfast::test {
namespace {

class SqlFiles : public PostgresTest {};

TEST_F(SqlFiles, a_server_can_prepare_every_statement) {
  make_tables(url());
  const auto psql = this->psql();
  const postgres::Tables tables = postgres::Tables::named("locks").value();
  psql->run(tables.expand(text(postgres::Sql::create_shedlock)));
  for (const bool ttl : {true, false}) {
    for (const postgres::NamedSql& sql : postgres::all_sql)
      EXPECT_NO_THROW(psql->prepare(tables.with_ttl(ttl).expand(sql.text))) << sql.name << ", ttl: " << ttl;
  }
  EXPECT_ANY_THROW(psql->prepare(tables.expand("SELECT l.kye FROM {locks} AS l"))) << "or nothing is checked";
}

}  // namespace
}  // namespace holdfast::test
