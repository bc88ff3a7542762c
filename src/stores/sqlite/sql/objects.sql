-- SPDX-License-Identifier: Apache-2.0
-- Everything that is in the file, as SQLite remembers it.
SELECT type, name, tbl_name, sql FROM {sqlite_schema};
