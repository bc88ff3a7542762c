// SPDX-License-Identifier: Apache-2.0
#include "core/table_version.h"

#include <gtest/gtest.h>

namespace holdfast::core {
namespace {

TEST(TableVersions, tables_are_refused_by_what_they_need_and_not_by_their_version) {
  EXPECT_FALSE((TableVersion{.version = table_version + 5, .needs = table_version}.too_new()));
  EXPECT_TRUE((TableVersion{.version = table_version + 5, .needs = table_version + 1}.too_new()));
}

TEST(TableVersions, tables_without_a_version_are_those_of_0_1_0_and_older_than_ours) {
  EXPECT_EQ(TableVersion{}.version, 2);
  EXPECT_TRUE(TableVersion{}.outdated());
  EXPECT_FALSE(TableVersion{}.too_new());
}

TEST(TableVersions, a_migration_runs_on_older_tables_only) {
  EXPECT_TRUE(migrates("migrate_3_locks", 2));
  EXPECT_FALSE(migrates("migrate_3_locks", 3));
  EXPECT_TRUE(migrates("migrate_10_locks", 9));
  EXPECT_FALSE(migrates("create_locks", 2));
  EXPECT_EQ(migrated_table("migrate_10_locks"), "locks");
}

TEST(TableVersions, a_statement_has_the_lines_for_its_columns) {
  const std::string_view sql =
      "SELECT key\n     , ttl_ms  -- with ttl\n     , NULL  -- without ttl\n  FROM locks;";
  EXPECT_EQ(lines_for(sql, true), "SELECT key\n     , ttl_ms\n  FROM locks;");
  EXPECT_EQ(lines_for(sql, false), "SELECT key\n     , NULL\n  FROM locks;");
  EXPECT_EQ(lines_for("a\n-- about ttl\nb\n", false), "a\n-- about ttl\nb\n");
}

}  // namespace
}  // namespace holdfast::core
