// SPDX-License-Identifier: Apache-2.0
#include "stores/sqlite/admin.h"

#include <filesystem>

#include "stores/sqlite/database.h"
#include "stores/sqlite/diagnosis.h"
#include "stores/sqlite/path.h"
#include "stores/sqlite/presence.h"
#include "stores/sqlite/sql/schema.sql.h"
#include "stores/sqlite/sweep.h"
#include "stores/sqlite/upkeep.h"

namespace holdfast::sqlite {

// As they stand in schema.sql, with what is said there about them.
std::vector<std::string> SqliteStoreAdmin::schema() const {
  std::vector<std::string> statements = {"PRAGMA application_id = " + std::to_string(application_id) + ";",
                                         "PRAGMA user_version = " + std::to_string(schema_version) + ";",
                                         "PRAGMA journal_mode = WAL;"};
  const std::string text = tables_.expand(schema_sql);
  std::size_t from = text.find('\n') + 1;  // behind the line with the licence
  for (std::size_t end = text.find(";\n", from); end != std::string::npos; end = text.find(";\n", from)) {
    statements.push_back(text.substr(from, end + 1 - from));
    from = std::min(text.find_first_not_of('\n', end + 1), text.size());
  }
  return statements;
}

Result<std::vector<std::string>> SqliteStoreAdmin::plan(Instant until) {
  try {
    std::error_code ignored;
    if (std::filesystem::symlink_status(path_, ignored).type() == std::filesystem::file_type::not_found)
      return schema();
    Connection connection(make_file(path_, machine_, accepted_), tables_,
                          machine_);  // it is there: only looked at
    connection.set_end(until);
    return is_prepared(connection) ? std::vector<std::string>{} : schema();
  } catch (const Failure& failure) {
    return failure.error();
  }
}

Result<std::vector<std::string>> SqliteStoreAdmin::init(Instant until) {
  auto missing = plan(until);
  if (!missing || missing->empty()) return missing;
  if (auto made = store_->connect(until); !made) return std::move(made).error();
  return missing;
}

Result<Purged> SqliteStoreAdmin::purge(const Purge& what, Instant until) {
  const auto looked_at = store_->connect(until);
  if (!looked_at) return looked_at.error();
  try {
    const std::string file = make_file(path_, machine_, accepted_);
    const Presence nobody(file, tables_.name(), "");  // never appears
    Connection connection(file, tables_, machine_);
    connection.set_end(until);
    open_again(connection);
    Upkeep upkeep(connection, nobody);
    return Sweep(connection).all(what, [&] {
      upkeep.tend();
      connection.stand_back(0);  // others ask for the lock again and again, but they sleep in between
    });
  } catch (const Failure& failure) {
    return failure.error();
  }
}

Result<Diagnosis> SqliteStoreAdmin::diagnose(Instant until) {
  try {
    Diagnosis diagnosis = diagnose_file(path_, tables_, machine_, until);
    core::mark_accepted(diagnosis.findings, accepted_);
    return diagnosis;
  } catch (const Failure& failure) {
    return failure.error();
  }
}

}  // namespace holdfast::sqlite
