// SPDX-License-Identifier: Apache-2.0
#include "stores/sqlite/diagnosis.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <iterator>

#include "core/findings.h"
#include "stores/sqlite/database.h"
#include "stores/sqlite/findings.h"
#include "stores/sqlite/path.h"

namespace holdfast::sqlite {
namespace {

namespace fs = std::filesystem;

void add(Findings& found, Findings more) { std::move(more.begin(), more.end(), std::back_inserter(found)); }

// What `check` refuses; anything else goes on its way.
template <class Check>
std::optional<Error> refusal_of(Check check) {
  try {
    check();
  } catch (const Failure& failure) {
    if (failure.error().code != Errc::refused) throw;
    return failure.error();
  }
  return std::nullopt;
}

template <class Check>
void find_refusal(Findings& found, const char* topic, Check check) {
  if (const auto error = refusal_of(check)) found.push_back(about_refusal(topic, *error));
}

// What is there already and can be written needs no folder that can.
bool is_all_made(const std::string& file) {
  for (const char* const end : {"", "-wal", "-shm", ".d"}) {
    if (::faccessat(AT_FDCWD, (file + end).c_str(), W_OK, AT_EACCESS | AT_SYMLINK_NOFOLLOW) != 0)
      return false;
  }
  return true;
}

void find_in_contents(Findings& found, const std::string& file, const Tables& tables, const Machine& machine,
                      Instant until) {
  try {
    find_refusal(found, "sqlite.contents", [&] {
      Connection connection(file, tables, machine);
      connection.set_end(until);
      if (!is_prepared(connection)) return;
      add(found, about_era(file, era_of(connection)));
      // Who only has leases has no tables of jobs: that is as good.
      if (const auto error = refusal_of([&] { has_job_tables(connection); }))
        found.push_back(about_refused_jobs(*error));
    });
  } catch (const Failure&) {
    if (!has_danger(found)) throw;  // else that is why: there is no room for a log
  }
}

void find_in_file(Findings& found, const std::string& file) {
  const auto found_before = found.size();
  if (::faccessat(AT_FDCWD, file.c_str(), R_OK | W_OK, AT_EACCESS | AT_SYMLINK_NOFOLLOW) != 0)
    add(found, about_access(file, errno));
  if (found.size() == found_before) find_refusal(found, "sqlite.file", [&] { check_files(file); });
  std::error_code unknown;
  if (fs::exists(fs::symlink_status(file + ".d", unknown)))
    find_refusal(found, "sqlite.file", [&] { check_client_folder(file + ".d"); });
  if (found.size() == found_before) add(found, doubts_about(probe_file(file)));
  for (const std::string& user : users_of_a_deleted_file(file)) add(found, about_deleted(user, file));
}

// Nothing is known that keeps us from reading what is in it.
bool is_trusted(const Findings& found) {
  return std::none_of(found.begin(), found.end(), [](const Finding& finding) {
    return finding.topic == "sqlite.file" ||
           (finding.topic == "sqlite.read-only" && finding.severity == Severity::danger);
  });
}

}  // namespace

Diagnosis diagnose_file(const std::string& path, const Tables& tables, const Machine& machine,
                        Instant until) {
  Diagnosis diagnosis{.server = std::string("SQLite ") + sqlite3_libversion()};
  Findings& found = diagnosis.findings;
  const std::string folder = folder_so_far(path);
  // Where the folder is yet to be made, there is none of that name.
  std::error_code unknown;
  const std::string file = (fs::path(folder) / fs::path(path).filename()).string();
  const bool all_the_way = fs::equivalent(fs::path(path).parent_path(), folder, unknown);

  const FolderProbe place = probe_folder(folder, machine);
  add(found, dangers_of(place));
  add(found, about_passing(place));
  add(found, about_room(folder, probe_room(folder), all_the_way && is_all_made(file)));
  // A file system that is known to be dangerous may never answer.
  if (!has_danger(found)) add(found, about_locks(folder, machine.lock_visibility(folder)));
  add(found, about_process(sqlite3_libversion_number(), other_sqlites()));
  if (all_the_way && fs::exists(fs::symlink_status(file, unknown))) {
    find_in_file(found, file);
    if (is_trusted(found)) find_in_contents(found, file, tables, machine, until);
  }
  diagnosis.grade = grade_of(Grade::B, found);
  return diagnosis;
}

}  // namespace holdfast::sqlite
