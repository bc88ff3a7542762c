// SPDX-License-Identifier: Apache-2.0
// schema.h - whether the tables in a file are exactly ours.
#pragma once
#include "stores/sqlite/connection.h"

namespace holdfast::sqlite {

// Whether the connection's tables are in the file.  Throws Errc::refused when one of them is not as
// schema.sql makes it, when some are missing, when anything else is built on them, and when there is a
// trigger or a view anywhere: whoever planted it wants our statements to run it.  Other plain tables, another
// lock table or a program's own, are not looked into.
bool has_our_tables(Connection& connection);

// The same of those that jobs_schema.sql makes, with their indexes.
bool has_job_tables(Connection& connection);

}  // namespace holdfast::sqlite
