// SPDX-License-Identifier: Apache-2.0
// findings.h - what can be wrong with a file and its place, as rules over what was read there.  The topics
// are the rows of the table in docs/stores/sqlite.md.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "holdfast/result.h"
#include "holdfast/rows.h"
#include "stores/sqlite/path.h"
#include "stores/sqlite/probe.h"

namespace holdfast::sqlite {

using Findings = std::vector<Finding>;
enum class Era : std::uint8_t;  // database.h

// Of all that can be found here.
std::vector<std::string_view> finding_topics();

bool has_danger(const Findings& findings);

// -- what every client finds

// What is unsafe about a folder: a file system without dependable locks; a folder, it or one above it, that
// everybody may write or that belongs to another user.
Findings dangers_of(const FolderProbe& folder);
// What people should know about a file that is used all the same.
Findings doubts_about(const FileProbe& file);

// -- what a diagnosis finds besides

Findings about_passing(const FolderProbe& folder);
Findings about_locks(const std::string& folder, const std::optional<LockVisibility>& seen);
// `all_made`: all files are there already and can be written.
Findings about_room(const std::string& folder, const RoomProbe& room, bool all_made);

// `library_version` is of SQLite, as sqlite3_libversion_number() counts.
Findings about_process(int library_version, const std::vector<std::string>& other_copies);

// `error`: why it cannot be read and written, as errno(3) has it.
Findings about_access(const std::string& file, int error);
// `user` has a deleted file open that had that path.
Findings about_deleted(const std::string& user, const std::string& file);
Findings about_era(const std::string& file, Era era);

// A refusal says what is wrong and, behind its last semicolon, what would be right.
Finding about_refusal(const char* topic, const Error& error);
// The same of the tables of jobs, which leases do without.
Finding about_refused_jobs(const Error& error);

}  // namespace holdfast::sqlite
