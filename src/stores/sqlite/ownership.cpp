// SPDX-License-Identifier: Apache-2.0
#include "stores/sqlite/ownership.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <fstream>

#include "base/random.h"
#include "holdfast/result.h"
#include "stores/sqlite/fault.h"

namespace holdfast::sqlite {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void refuse_path(const std::string& path, const std::string& why) {
  throw_failure({Errc::refused, path + why});
}

// False: there is none.
bool look(const std::string& path, struct stat& found) {
  if (::lstat(path.c_str(), &found) == 0) return true;
  if (errno == ENOENT) return false;
  throw_failure(system_error("cannot access " + path, errno));
}

bool ours(const struct stat& found) { return found.st_uid == ::geteuid() || found.st_uid == 0; }

bool others_may_write(const struct stat& found) { return (found.st_mode & S_IWOTH) != 0; }

// In a user namespace all users that have no number there, root of the machine perhaps too, are shown as one.
bool is_known(uid_t user) {
  constexpr uid_t no_number = 65534;
  if (user != no_number) return true;
  std::ifstream map("/proc/self/uid_map");
  for (unsigned long first = 0, outside = 0, count = 0; map >> first >> outside >> count;) {
    if (first <= user && user - first < count) return true;
  }
  return false;
}

bool in_our_groups(gid_t group) {
  if (group == ::getegid()) return true;
  const int count = ::getgroups(0, nullptr);
  std::vector<gid_t> groups(static_cast<std::size_t>(std::max(count, 0)));
  if (::getgroups(count, groups.data()) < 0) return false;
  return std::find(groups.begin(), groups.end(), group) != groups.end();
}

bool for_our_group(const struct stat& found) {
  return (found.st_mode & S_IWGRP) != 0 && !others_may_write(found) && in_our_groups(found.st_gid);
}

void check_owner(const std::string& path, const struct stat& found) {
  if (others_may_write(found))
    refuse_path(path, " can be written by every user; if nobody has changed it yet, run: chmod o-w " + path);
  if (ours(found)) return;
  struct stat folder {};
  const bool shared = for_our_group(found) && look(fs::path(path).parent_path().string(), folder) &&
                      (folder.st_mode & S_IWGRP) != 0 && !others_may_write(folder);
  if (shared) return;
  refuse_path(
      path,
      " belongs to another user (uid " + std::to_string(found.st_uid) +
          "); run as that user, or share it through a common group: folder of mode 2770, files of mode 660");
}

void check_file(const std::string& path) {
  struct stat found {};
  if (!look(path, found)) return;
  if (S_ISLNK(found.st_mode))
    refuse_path(path, " is a symbolic link; give the path of the file itself, or remove the link");
  if (!S_ISREG(found.st_mode))
    refuse_path(path, " is not a regular file; give the path of a regular file or of a new one");
  if (found.st_nlink > 1) refuse_path(path, " has several names (hard links); keep only one of them");
  check_owner(path, found);
  // SQLite would go on with a log that it can only read, until somebody wants to write.
  // A journal goes when its transaction ends, perhaps since we looked.
  if (::faccessat(AT_FDCWD, path.c_str(), R_OK | W_OK, AT_EACCESS) != 0 && errno != ENOENT)
    throw_failure(system_error("cannot read and write " + path, errno));
}

bool everybody_writes(const std::string& folder) {
  struct stat found {};
  return look(folder, found) && others_may_write(found);
}

}  // namespace

std::string open_folder(const std::string& folder) {
  for (fs::path at = folder;; at = at.parent_path()) {
    struct stat found {};
    if (look(at.string(), found) && others_may_write(found) && (found.st_mode & S_ISVTX) == 0)
      return at.string();
    if (at == at.parent_path()) return {};
  }
}

std::optional<ForeignFolder> foreign_folder(const std::string& folder) {
  uid_t sharer = ::geteuid();
  for (fs::path at = folder;; at = at.parent_path()) {
    struct stat found {};
    if (look(at.string(), found)) {
      if (for_our_group(found)) sharer = found.st_uid;
      if (!ours(found) && found.st_uid != sharer && is_known(found.st_uid))
        return ForeignFolder{at.string(), found.st_uid};
    }
    if (at == at.parent_path()) return std::nullopt;
  }
}

void check_files(const std::string& path) {
  for (const char* const suffix : {"", "-wal", "-shm", "-journal"}) check_file(path + suffix);
}

void check_client_folder(const std::string& folder) {
  struct stat found {};
  if (!look(folder, found) || !S_ISDIR(found.st_mode))
    refuse_path(
        folder,
        " is not a folder, but Holdfast keeps its clients' FIFOs there; remove it while no process uses "
        "the store");
  check_owner(folder, found);
}

int obstacle_in(const std::string& folder) {
  struct statvfs room {};
  if (::faccessat(AT_FDCWD, folder.c_str(), W_OK | X_OK, AT_EACCESS) != 0) return errno;
  if (::statvfs(folder.c_str(), &room) != 0) return errno;
  const bool full = room.f_bavail == 0 || (room.f_files != 0 && room.f_favail == 0);
  return full ? ENOSPC : 0;
}

std::vector<Finding> doubts_about(const std::string& path) {
  std::vector<Finding> doubts;
  const std::string folder = fs::path(path).parent_path().string();
  if (everybody_writes(path)) {
    doubts.push_back({Severity::danger, "sqlite.file",
                      path + " can be written by every user: any of them can free any lease",
                      "chmod o-w " + path});
  }
  if (everybody_writes(folder) && open_folder(folder).empty()) {
    doubts.push_back({Severity::note, "sqlite.sticky-folder",
                      path + " is in " + folder + ", where every user may create files beside it",
                      "keep it in a folder of its own"});
  }
  return doubts;
}

bool is_shared(const std::string& folder) {
  struct stat found {};
  constexpr mode_t for_group = S_ISGID | S_IWGRP;
  return look(folder, found) && (found.st_mode & for_group) == for_group && !others_may_write(found);
}

int make_shared_as(const std::string& path, mode_t mode,
                   const std::function<Fd(const std::string& name)>& make) {
  const std::string making = path + ".new." + random_hex(16);
  Fd made = make(making);
  if (!made) return errno;
  int error = ::fchmod(made.get(), mode) == 0 ? 0 : errno;
  // Before it has its name, and SQLite in this very process a lock on it: closing would drop that.
  made.reset();
  if (error == 0 && ::renameat2(AT_FDCWD, making.c_str(), AT_FDCWD, path.c_str(), RENAME_NOREPLACE) != 0)
    error = errno;
  if (error != 0 && ::unlink(making.c_str()) != 0) ::rmdir(making.c_str());
  return error;
}

}  // namespace holdfast::sqlite
