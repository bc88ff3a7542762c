// SPDX-License-Identifier: Apache-2.0
// journal.h - a rollback journal beside a file that should have none.
#pragma once
#include <cstdint>
#include <string>

namespace holdfast::sqlite {

// Of a database in WAL mode SQLite still plays back a journal that lies beside it, before anybody can look at
// the tables.  Ours can have one only if a process died in the middle of switching to WAL, and then it has
// page 1 in it and nothing else.  Throws Errc::refused for every other: played back it would overwrite what
// we keep.
//
// REQUIRES: the file is of ours and in WAL mode.
void check_journal(const std::string& path, std::uint32_t application_id);

}  // namespace holdfast::sqlite
