// SPDX-License-Identifier: Apache-2.0
#include "stores/sqlite/findings.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "core/findings.h"
#include "stores/sqlite/database.h"

namespace holdfast::sqlite {
namespace {

// Less than a log may grow to before it is written back.
constexpr std::uint64_t little_room = 16 << 20, few_files = 64;

constexpr core::FindingRule<FolderProbe> folder_dangers[] = {
    {.topic = "sqlite.file-system",
     .severity = Severity::danger,
     .applies = [](const FolderProbe& f) { return unsafe_file_system(f.file_system) != nullptr; },
     .what =
         [](const FolderProbe& f) {
           return f.folder + " is on " + unsafe_file_system(f.file_system) +
                  ", where locks and shared memory may not work between processes, so two owners could hold "
                  "one "
                  "key";
         },
     .advice = "keep the file on a local disk"},
    {.topic = "sqlite.open-folder",
     .severity = Severity::danger,
     .applies = [](const FolderProbe& f) { return !f.open.empty(); },
     .what =
         [](const FolderProbe& f) {
           return f.folder + " is not safe for leases: every user may write " + f.open +
                  " and could replace the file";
         },
     .advice = [](const FolderProbe& f) { return "chmod o-w " + f.open; }},
    {.topic = "sqlite.foreign-folder",
     .severity = Severity::danger,
     .applies = [](const FolderProbe& f) { return f.foreign.has_value(); },
     .what =
         [](const FolderProbe& f) {
           return f.folder + " is not safe for leases: " + f.foreign->path +
                  " belongs to another user (uid " + std::to_string(f.foreign->owner) +
                  "), who could replace the file";
         },
     .advice = "run as that user, keep the file in a folder of your own (with sudo: sudo -H), or share a "
               "folder through a common group (mode 2770)"},
};

constexpr core::FindingRule<FolderProbe> folder_warnings[] = {
    {.topic = "sqlite.passing",
     .severity = Severity::warning,
     .applies = [](const FolderProbe& f) { return passing_file_system(f.file_system) != nullptr; },
     .what =
         [](const FolderProbe& f) {
           return f.folder + " is on " + passing_file_system(f.file_system) +
                  ": each container may have its own, and its files may end with the container";
         },
     .advice = "keep the file on a disk or volume that all its users share"},
};

constexpr core::FindingRule<FileProbe> file_rules[] = {
    {.topic = "sqlite.file",
     .severity = Severity::danger,
     .applies = [](const FileProbe& f) { return f.open; },
     .what =
         [](const FileProbe& f) {
           return f.path + " can be written by every user: any of them can free any lease";
         },
     .advice = [](const FileProbe& f) { return "chmod o-w " + f.path; }},
    {.topic = "sqlite.sticky-folder",
     .severity = Severity::note,
     .applies = [](const FileProbe& f) { return f.sticky_folder; },
     .what =
         [](const FileProbe& f) {
           return f.path + " is in " + f.folder + ", where every user may create files beside it";
         },
     .advice = "keep it in a folder of its own"},
};

struct LockFacts {
  const std::string& folder;
  const LockVisibility& seen;
};

constexpr core::FindingRule<LockFacts> lock_rules[] = {
    {.topic = "sqlite.processes",
     .severity = Severity::danger,
     .applies = [](const LockFacts& f) { return f.seen.error != 0; },
     .what =
         [](const LockFacts& f) {
           return "files in " + f.folder + " cannot be locked or mapped (" + std::strerror(f.seen.error) +
                  "): no lease can be stored there";
         },
     .advice = "keep the file on a local disk"},
    {.topic = "sqlite.processes",
     .severity = Severity::danger,
     .applies = [](const LockFacts& f) { return f.seen.error == 0 && !f.seen.locks; },
     .what =
         [](const LockFacts& f) {
           return "in " + f.folder +
                  " file locks do not work: two processes can lock the same file at once: two owners could "
                  "hold "
                  "one key";
         },
     .advice = "keep the file on a local disk"},
    {.topic = "sqlite.processes",
     .severity = Severity::danger,
     .applies = [](const LockFacts& f) { return f.seen.error == 0 && f.seen.locks && !f.seen.memory; },
     .what =
         [](const LockFacts& f) {
           return "in " + f.folder +
                  " a process does not see what another one writes into shared memory: two owners could hold "
                  "one "
                  "key";
         },
     .advice = "keep the file on a local disk"},
};

struct RoomFacts {
  const std::string& folder;
  const RoomProbe& room;
  bool all_made;  // all files are there already and can be written

  bool unwritable() const { return room.obstacle != 0 && room.obstacle != ENOSPC; }
  bool enough_for_now() const { return all_made && room.obstacle != EROFS; }
  std::string what() const { return folder + " cannot be written (" + std::strerror(room.obstacle) + "): "; }
};

constexpr core::FindingRule<RoomFacts> room_rules[] = {
    {.topic = "sqlite.room",
     .severity = Severity::danger,
     .applies = [](const RoomFacts& f) { return f.room.obstacle == ENOSPC; },
     .what =
         [](const RoomFacts& f) { return "the disk of " + f.folder + " is full: no lease can be granted"; },
     .advice = "make room there",
     .blocks = true},
    {.topic = "sqlite.read-only",
     .severity = Severity::warning,
     .applies = [](const RoomFacts& f) { return f.unwritable() && f.enough_for_now(); },
     .what =
         [](const RoomFacts& f) {
           return f.what() +
                  "leases are granted as long as all files exist, but a missing file cannot be created";
         },
     .advice = "let all users of the file write the folder"},
    {.topic = "sqlite.read-only",
     .severity = Severity::danger,
     .applies = [](const RoomFacts& f) { return f.unwritable() && !f.enough_for_now(); },
     .what = [](const RoomFacts& f) { return f.what() + "no lease can be granted"; },
     .advice = "run as a user who may write it, or give another path",
     .blocks = true},
    {.topic = "sqlite.room",
     .severity = Severity::warning,
     .applies =
         [](const RoomFacts& f) {
           return f.room.obstacle == 0 && f.room.bytes &&
                  (*f.room.bytes < little_room || f.room.files.value_or(few_files) < few_files);
         },
     .what =
         [](const RoomFacts& f) {
           return "the disk of " + f.folder + " is nearly full (" + std::to_string(*f.room.bytes >> 10) +
                  " KiB left): once it is full, no lease can be granted or renewed";
         },
     .advice = "make room there"},
};

constexpr core::FindingRule<int> library_rules[] = {
    {.topic = "sqlite.library",
     .severity = Severity::note,
     .applies = [](const int& version) { return version < 3051003; },
     .what = "this version of SQLite can damage a file when two connections checkpoint its WAL at once: "
             "Holdfast avoids that, but another program may not",
     .advice = "let no other program write the file, or install SQLite 3.51.3 or later"},
};

constexpr core::FindingRule<std::string> copy_rules[] = {
    {.topic = "sqlite.copies",
     .severity = Severity::warning,
     .applies = [](const std::string&) { return true; },
     .what =
         [](const std::string& other) {
           return "this process has loaded another copy of SQLite (" + other +
                  "): if that copy opens and closes the same file, Holdfast loses its locks on it";
         },
     .advice = "open the file with one of the copies only"},
};

constexpr core::FindingRule<int> power_rules[] = {
    {.topic = "sqlite.power-loss",
     .severity = Severity::note,
     .applies = [](const int&) { return true; },
     .what = "a commit of leases does not wait for the disk (synchronous=NORMAL): a power cut may lose the "
             "latest leases, but then all leases are void anyway, and tokens continue from the clock",
     .advice = "nothing to change: no lease outlives a power cut"},
};

struct UseFacts {
  const std::string& file;
  int error = 0;             // why it cannot be read and written, as errno(3) has it
  std::string deleted = {};  // the process that still uses a deleted file of this name
  Era era = Era::this_boot;
};

constexpr core::FindingRule<UseFacts> use_rules[] = {
    {.topic = "sqlite.read-only",
     .severity = Severity::danger,
     .applies = [](const UseFacts& f) { return f.error != 0; },
     .what =
         [](const UseFacts& f) {
           return f.file + " must be readable and writable, but is not (" + std::strerror(f.error) +
                  "): no lease can be granted";
         },
     .advice = "run as a user who may write the file and its folder",
     .blocks = true},
    {.topic = "sqlite.replaced",
     .severity = Severity::danger,
     .applies = [](const UseFacts& f) { return !f.deleted.empty(); },
     .what =
         [](const UseFacts& f) {
           return f.deleted + " still uses a deleted file that had the path " + f.file +
                  ": processes that open the path now do not see its leases";
         },
     .advice = "end that process, and do not delete the file while it is used"},
    {.topic = "sqlite.boot",
     .severity = Severity::note,
     .applies = [](const UseFacts& f) { return f.era == Era::another_boot; },
     .what =
         [](const UseFacts& f) {
           return f.file + " was last used before this machine started: its leases are void";
         },
     .advice = "nothing to change: the next process that uses the file starts afresh"},
    {.topic = "sqlite.time-namespace",
     .severity = Severity::danger,
     .applies = [](const UseFacts& f) { return f.era == Era::another_clock; },
     .what =
         [](const UseFacts& f) {
           return f.file + " is used by processes in another time namespace: their clock differs from ours";
         },
     .advice = "use it from one namespace, or give another path"},
};

}  // namespace

std::vector<std::string_view> finding_topics() {
  std::vector<std::string_view> topics =
      core::topics_of(folder_dangers, folder_warnings, file_rules, lock_rules, room_rules, library_rules,
                      copy_rules, power_rules, use_rules);
  // Made of refusals.
  topics.insert(topics.end(), {"sqlite.contents", "sqlite.jobs"});
  std::sort(topics.begin(), topics.end());
  return topics;
}

bool has_danger(const Findings& findings) {
  return std::any_of(findings.begin(), findings.end(),
                     [](const Finding& finding) { return finding.severity == Severity::danger; });
}

Findings dangers_of(const FolderProbe& probe) { return core::judged(folder_dangers, probe); }
Findings doubts_about(const FileProbe& probe) { return core::judged(file_rules, probe); }
Findings about_passing(const FolderProbe& probe) { return core::judged(folder_warnings, probe); }

Findings about_locks(const std::string& folder, const std::optional<LockVisibility>& seen) {
  return seen ? core::judged(lock_rules, {folder, *seen}) : Findings{};
}

Findings about_room(const std::string& folder, const RoomProbe& room, bool all_made) {
  return core::judged(room_rules, {folder, room, all_made});
}

Findings about_process(int library_version, const std::vector<std::string>& other_copies) {
  Findings found = core::judged(library_rules, library_version);
  for (const std::string& other : other_copies) core::judge(copy_rules, other, found);
  core::judge(power_rules, library_version, found);
  return found;
}

Findings about_access(const std::string& file, int error) { return core::judged(use_rules, {file, error}); }

Findings about_deleted(const std::string& user, const std::string& file) {
  return core::judged(use_rules, {.file = file, .deleted = user});
}

Findings about_era(const std::string& file, Era era) {
  return core::judged(use_rules, {.file = file, .era = era});
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
