// SPDX-License-Identifier: Apache-2.0
#include "cli/fence/code.h"

#include "cli/fence/code/mariadb.sql.h"
#include "cli/fence/code/postgres.sql.h"
#include "cli/fence/code/redis.lua.h"
#include "cli/fence/code/sqlite.sql.h"

namespace holdfast::cli {

std::optional<std::string_view> fence_code(std::string_view where) noexcept {
  if (where == "sqlite") return fence::sqlite_sql;
  if (where == "postgres") return fence::postgres_sql;
  if (where == "mariadb" || where == "mysql") return fence::mariadb_sql;
  if (where == "redis") return fence::redis_lua;
  return std::nullopt;
}

}  // namespace holdfast::cli
