// SPDX-License-Identifier: Apache-2.0
#include "stores/sqlite/findings.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "stores/sqlite/database.h"

namespace holdfast::sqlite {
namespace {

// Less than a log may grow to before it is written back.
constexpr std::uint64_t little_room = 16 << 20, few_files = 64;

Finding about_no_way_in(const std::string& folder, int error, bool all_made) {
  const std::string what = folder + " cannot be written (" + std::strerror(error) + "): ";
  if (all_made && error != EROFS)
    return {Severity::warning, "sqlite.read-only",
            what + "leases are granted as long as all files exist, but a missing file cannot be created",
            "let all users of the file write the folder"};
  return {Severity::danger, "sqlite.read-only", what + "no lease can be granted",
          "run as a user who may write it, or give another path"};
}

}  // namespace

bool has_danger(const Findings& findings) {
  return std::any_of(findings.begin(), findings.end(),
                     [](const Finding& finding) { return finding.severity == Severity::danger; });
}

Findings dangers_of(const FolderProbe& probe) {
  Findings dangers;
  if (const char* const unsafe = unsafe_file_system(probe.file_system)) {
    dangers.push_back(
        {Severity::danger, "sqlite.file-system",
         probe.folder + " is on " + unsafe +
             ", where locks and shared memory may not work between processes, so two owners could "
             "hold one key",
         "keep the file on a local disk"});
  }
  if (!probe.open.empty()) {
    dangers.push_back({Severity::danger, "sqlite.open-folder",
                       probe.folder + " is not safe for leases: every user may write " + probe.open +
                           " and could replace the file",
                       "chmod o-w " + probe.open});
  }
  if (probe.foreign) {
    dangers.push_back(
        {Severity::danger, "sqlite.foreign-folder",
         probe.folder + " is not safe for leases: " + probe.foreign->path + " belongs to another user (uid " +
             std::to_string(probe.foreign->owner) + "), who could replace the file",
         "run as that user, keep the file in a folder of your own (with sudo: sudo -H), or share "
         "a folder through a common group (mode 2770)"});
  }
  return dangers;
}

Findings doubts_about(const FileProbe& probe) {
  Findings doubts;
  if (probe.open) {
    doubts.push_back({Severity::danger, "sqlite.file",
                      probe.path + " can be written by every user: any of them can free any lease",
                      "chmod o-w " + probe.path});
  }
  if (probe.sticky_folder) {
    doubts.push_back({Severity::note, "sqlite.sticky-folder",
                      probe.path + " is in " + probe.folder + ", where every user may create files beside it",
                      "keep it in a folder of its own"});
  }
  return doubts;
}

Findings about_passing(const FolderProbe& probe) {
  const char* const passing = passing_file_system(probe.file_system);
  if (passing == nullptr) return {};
  return {{Severity::warning, "sqlite.passing",
           probe.folder + " is on " + passing +
               ": each container may have its own, and its files may end with the container",
           "keep the file on a disk or volume that all its users share"}};
}

Findings about_locks(const std::string& folder, const std::optional<LockVisibility>& seen) {
  if (!seen || (seen->locks && seen->memory)) return {};
  if (seen->error != 0) {
    return {{Severity::danger, "sqlite.processes",
             "files in " + folder + " cannot be locked or mapped (" + std::strerror(seen->error) +
                 "): no lease can be stored there",
             "keep the file on a local disk"}};
  }
  return {{Severity::danger, "sqlite.processes",
           "in " + folder +
               (seen->locks ? " a process does not see what another one writes into shared memory"
                            : " file locks do not work: two processes can lock the same file at once") +
               ": two owners could hold one key",
           "keep the file on a local disk"}};
}

Findings about_room(const std::string& folder, const RoomProbe& room, bool all_made) {
  if (room.obstacle == ENOSPC) {
    return {{Severity::danger, "sqlite.room", "the disk of " + folder + " is full: no lease can be granted",
             "make room there"}};
  }
  if (room.obstacle != 0) return {about_no_way_in(folder, room.obstacle, all_made)};
  if (!room.bytes) return {};
  if (*room.bytes >= little_room && room.files.value_or(few_files) >= few_files) return {};
  return {{Severity::warning, "sqlite.room",
           "the disk of " + folder + " is nearly full (" + std::to_string(*room.bytes >> 10) +
               " KiB left): once it is full, no lease can be granted or renewed",
           "make room there"}};
}

std::optional<Finding> about_library(int version) {
  if (version >= 3051003) return std::nullopt;
  return Finding{Severity::note, "sqlite.library",
                 "this version of SQLite can damage a file when two connections checkpoint its WAL at once: "
                 "Holdfast avoids that, but another program may not",
                 "let no other program write the file, or install SQLite 3.51.3 or later"};
}

Findings about_process(int library_version, const std::vector<std::string>& other_copies) {
  Findings found;
  if (auto note = about_library(library_version)) found.push_back(*std::move(note));
  for (const std::string& other : other_copies) {
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
  return found;
}

Finding about_access(const std::string& file, int error) {
  return {Severity::danger, "sqlite.read-only",
          file + " must be readable and writable, but is not (" + std::strerror(error) +
              "): no lease can be granted",
          "run as a user who may write the file and its folder"};
}

Finding about_deleted(const std::string& user, const std::string& file) {
  return {Severity::danger, "sqlite.replaced",
          user + " still uses a deleted file that had the path " + file +
              ": processes that open the path now do not see its leases",
          "end that process, and do not delete the file while it is used"};
}

Findings about_era(const std::string& file, Era era) {
  switch (era) {
    case Era::this_boot: return {};
    case Era::another_boot:
      return {{Severity::note, "sqlite.boot",
               file + " was last used before this machine started: its leases are void",
               "nothing to change: the next process that uses the file starts afresh"}};
    case Era::another_clock:
      return {{Severity::danger, "sqlite.time-namespace",
               file + " is used by processes in another time namespace: their clock differs from ours",
               "use it from one namespace, or give another path"}};
  }
  return {};
}

Finding about_refusal(const char* topic, const Error& error) {
  const std::size_t end = error.detail.rfind("; ");
  if (end == std::string::npos) return {Severity::danger, topic, error.detail, "give another path"};
  return {Severity::danger, topic, error.detail.substr(0, end), error.detail.substr(end + 2)};
}

Finding about_refused_jobs(const Error& error) {
  return {Severity::note, "sqlite.jobs", "jobs do not work: " + about_refusal("sqlite.jobs", error).what,
          "repair that table; leases work without it"};
}

}  // namespace holdfast::sqlite
