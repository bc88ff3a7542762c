// SPDX-License-Identifier: Apache-2.0
#include "stores/sqlite/diagnosis.h"

#include <fcntl.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "core/findings.h"
#include "stores/sqlite/database.h"
#include "stores/sqlite/ownership.h"
#include "stores/sqlite/path.h"
#include "stores/sqlite/schema.h"
#include "stores/sqlite/surroundings.h"

namespace holdfast::sqlite {
namespace {

namespace fs = std::filesystem;
using Findings = std::vector<Finding>;

// Less than a log may grow to before it is written back.
constexpr std::uint64_t little_room = 16 << 20, few_files = 64;

// A refusal says what is wrong and, behind its last semicolon, what would be right.
Finding refusal(const char* topic, const Error& error) {
  const std::size_t end = error.detail.rfind("; ");
  if (end == std::string::npos) return {Severity::danger, topic, error.detail, "give another path"};
  return {Severity::danger, topic, error.detail.substr(0, end), error.detail.substr(end + 2)};
}

// What `check` refuses is found; anything else goes on its way.
template <class Check>
void find_refusal(Findings& found, const char* topic, Check check) {
  try {
    check();
  } catch (const Failure& failure) {
    if (failure.error().code != Errc::refused) throw;
    found.push_back(refusal(topic, failure.error()));
  }
}

bool has_danger(const Findings& found) {
  return std::any_of(found.begin(), found.end(),
                     [](const Finding& finding) { return finding.severity == Severity::danger; });
}

void find_in_place(Findings& found, const std::string& folder, const Machine& machine) {
  for (Finding& danger : dangers_of(folder, machine)) found.push_back(std::move(danger));
  if (const char* const passing = passing_file_system(machine.file_system(folder))) {
    found.push_back({Severity::warning, "sqlite.passing",
                     folder + " is on " + passing +
                         ": each container may have its own, and its files may end with the container",
                     "keep the file on a disk or volume that all its users share"});
  }
}

void find_apart(Findings& found, const std::string& folder, const Machine& machine) {
  const auto lock_visibility = machine.lock_visibility(folder);
  if (!lock_visibility || (lock_visibility->locks && lock_visibility->memory)) return;
  if (lock_visibility->error != 0) {
    found.push_back({Severity::danger, "sqlite.processes",
                     "files in " + folder + " cannot be locked or mapped (" +
                         std::strerror(lock_visibility->error) + "): no lease can be stored there",
                     "keep the file on a local disk"});
    return;
  }
  found.push_back({Severity::danger, "sqlite.processes",
                   "in " + folder +
                       (lock_visibility->locks
                            ? " a process does not see what another one writes into shared memory"
                            : " file locks do not work: two processes can lock the same file at once") +
                       ": two owners could hold one key",
                   "keep the file on a local disk"});
}

// What is there already and can be written needs no folder that can.
bool is_all_made(const std::string& file) {
  for (const char* const end : {"", "-wal", "-shm", ".d"}) {
    if (::faccessat(AT_FDCWD, (file + end).c_str(), W_OK, AT_EACCESS | AT_SYMLINK_NOFOLLOW) != 0)
      return false;
  }
  return true;
}

void find_no_way_in(Findings& found, const std::string& folder, int error, bool all_made) {
  const std::string what = folder + " cannot be written (" + std::strerror(error) + "): ";
  if (all_made && error != EROFS)
    found.push_back(
        {Severity::warning, "sqlite.read-only",
         what + "leases are granted as long as all files exist, but a missing file cannot be created",
         "let all users of the file write the folder"});
  else
    found.push_back({Severity::danger, "sqlite.read-only", what + "no lease can be granted",
                     "run as a user who may write it, or give another path"});
}

void find_no_room(Findings& found, const std::string& folder, bool all_made) {
  if (const int error = obstacle_in(folder); error == ENOSPC) {
    found.push_back({Severity::danger, "sqlite.room",
                     "the disk of " + folder + " is full: no lease can be granted", "make room there"});
    return;
  } else if (error != 0) {
    find_no_way_in(found, folder, error, all_made);
    return;
  }
  struct statvfs room {};
  if (::statvfs(folder.c_str(), &room) != 0) return;
  const std::uint64_t bytes = static_cast<std::uint64_t>(room.f_bavail) * room.f_frsize;
  if (bytes < little_room || (room.f_files != 0 && room.f_favail < few_files)) {
    found.push_back({Severity::warning, "sqlite.room",
                     "the disk of " + folder + " is nearly full (" + std::to_string(bytes >> 10) +
                         " KiB left): once it is full, no lease can be granted or renewed",
                     "make room there"});
  }
}

void find_in_process(Findings& found) {
  if (auto note = about_library(sqlite3_libversion_number())) found.push_back(*std::move(note));
  for (const std::string& other : other_sqlites()) {
    found.push_back({Severity::warning, "sqlite.copies",
                     "this process has loaded another copy of SQLite (" + other +
                         "): if that copy opens and closes the same file, Holdfast loses its locks on it",
                     "open the file with one of the copies only"});
  }
  found.push_back(
      {Severity::note, "sqlite.power-loss",
       "a commit of leases does not wait for the disk (synchronous=NORMAL): a power cut may lose "
       "the latest leases, but then all leases are void anyway, and tokens continue from the clock",
       "nothing to change: no lease outlives a power cut"});
}

void find_in_era(Findings& found, Connection& connection) {
  switch (era_of(connection)) {
    case Era::this_boot: return;
    case Era::another_boot:
      found.push_back({Severity::note, "sqlite.boot",
                       connection.path() + " was last used before this machine started: its leases are void",
                       "nothing to change: the next process that uses the file starts afresh"});
      return;
    case Era::another_clock:
      found.push_back({Severity::danger, "sqlite.time-namespace",
                       connection.path() +
                           " is used by processes in another time namespace: their clock differs from ours",
                       "use it from one namespace, or give another path"});
  }
}

// Who only has leases has no tables of jobs: that is as good.
void find_in_jobs(Findings& found, Connection& connection) {
  Findings refused;
  find_refusal(refused, "sqlite.jobs", [&] { has_job_tables(connection); });
  for (const Finding& finding : refused)
    found.push_back({Severity::note, finding.topic, "jobs do not work: " + finding.what,
                     "repair that table; leases work without it"});
}

void find_in_contents(Findings& found, const std::string& file, const Tables& tables, const Machine& machine,
                      Instant until) {
  try {
    find_refusal(found, "sqlite.contents", [&] {
      Connection connection(file, tables, machine);
      connection.set_end(until);
      if (!is_prepared(connection)) return;
      find_in_era(found, connection);
      find_in_jobs(found, connection);
    });
  } catch (const Failure&) {
    if (!has_danger(found)) throw;  // else that is why: there is no room for a log
  }
}

void find_in_file(Findings& found, const std::string& file) {
  const auto found_before = found.size();
  if (::faccessat(AT_FDCWD, file.c_str(), R_OK | W_OK, AT_EACCESS | AT_SYMLINK_NOFOLLOW) != 0) {
    found.push_back(
        {Severity::danger, "sqlite.read-only",
         file + " cannot be read and written (" + std::strerror(errno) + "): no lease can be granted",
         "run as a user who may write the file and its folder"});
  }
  if (found.size() == found_before) find_refusal(found, "sqlite.file", [&] { check_files(file); });
  std::error_code unknown;
  if (fs::exists(fs::symlink_status(file + ".d", unknown)))
    find_refusal(found, "sqlite.file", [&] { check_client_folder(file + ".d"); });
  if (found.size() == found_before) {
    for (Finding& doubt : doubts_about(file)) found.push_back(std::move(doubt));
  }
  for (const std::string& user : users_of_a_deleted_file(file)) {
    found.push_back({Severity::danger, "sqlite.replaced",
                     user + " still uses a deleted file that had the path " + file +
                         ": processes that open the path now do not see its leases",
                     "end that process, and do not delete the file while it is used"});
  }
}

}  // namespace

std::optional<Finding> about_library(int version) {
  if (version >= 3051003) return std::nullopt;
  return Finding{Severity::note, "sqlite.library",
                 "this version of SQLite can damage a file when two connections checkpoint its WAL at once: "
                 "Holdfast avoids that, but another program may not",
                 "let no other program write the file, or install SQLite 3.51.3 or later"};
}

Diagnosis diagnose_file(const std::string& path, const Tables& tables, const Machine& machine,
                        Instant until) {
  Diagnosis diagnosis{.server = std::string("SQLite ") + sqlite3_libversion()};
  Findings& found = diagnosis.findings;
  const std::string folder = folder_so_far(path);
  // Where the folder is yet to be made, there is none of that name.
  std::error_code unknown;
  const std::string file = (fs::path(folder) / fs::path(path).filename()).string();
  const bool all_the_way = fs::equivalent(fs::path(path).parent_path(), folder, unknown);
  find_in_place(found, folder, machine);
  find_no_room(found, folder, all_the_way && is_all_made(file));
  // A file system that is known to be dangerous may never answer.
  if (!has_danger(found)) find_apart(found, folder, machine);
  find_in_process(found);
  if (all_the_way && fs::exists(fs::symlink_status(file, unknown))) {
    find_in_file(found, file);
    const bool trusted = std::none_of(found.begin(), found.end(), [](const Finding& finding) {
      return finding.topic == "sqlite.file" ||
             (finding.topic == "sqlite.read-only" && finding.severity == Severity::danger);
    });
    if (trusted) find_in_contents(found, file, tables, machine, until);
  }
  diagnosis.grade = core::grade_of(Grade::B, found);
  return diagnosis;
}

}  // namespace holdfast::sqlite
