// SPDX-License-Identifier: Apache-2.0
#include "stores/sqlite/path.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>

#include "base/process.h"
#include "base/random.h"
#include "holdfast/sqlite.h"
#include "stores/sqlite/fault.h"
#include "stores/sqlite/findings.h"

namespace holdfast::sqlite {
namespace {

namespace fs = std::filesystem;

// -- whom we trust

[[noreturn]] void refuse_path(const std::string& path, const std::string& why) {
  throw_failure({Errc::refused, path + why});
}

// False: there is none.
bool read_status(const std::string& path, struct stat& found) {
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
  const bool shared = for_our_group(found) && read_status(fs::path(path).parent_path().string(), folder) &&
                      (folder.st_mode & S_IWGRP) != 0 && !others_may_write(folder);
  if (shared) return;
  refuse_path(
      path,
      " belongs to another user (uid " + std::to_string(found.st_uid) +
          "); run as that user, or share it through a common group: folder of mode 2770, files of mode 660");
}

void check_file(const std::string& path) {
  struct stat found {};
  if (!read_status(path, found)) return;
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
  return read_status(folder, found) && others_may_write(found);
}

// The folder, or the next one above it, that everybody may write and that is not sticky as /tmp is: anybody
// could put another folder or file in place of ours.  Empty: there is none.
// REQUIRES: a path without symbolic links.
std::string open_folder(const std::string& folder) {
  for (fs::path at = folder;; at = at.parent_path()) {
    struct stat found {};
    if (read_status(at.string(), found) && others_may_write(found) && (found.st_mode & S_ISVTX) == 0)
      return at.string();
    if (at == at.parent_path()) return {};
  }
}

// The folder, or the next one above it, that belongs to another user than root, who could do the same: sticky
// or not, a folder's owner may rename what lies in it.  Not if it is shared with us on purpose, nor those
// above it of the same user. REQUIRES: a path without symbolic links.
std::optional<ForeignFolder> foreign_folder(const std::string& folder) {
  uid_t sharer = ::geteuid();
  for (fs::path at = folder;; at = at.parent_path()) {
    struct stat found {};
    if (read_status(at.string(), found)) {
      if (for_our_group(found)) sharer = found.st_uid;
      if (!ours(found) && found.st_uid != sharer && is_known(found.st_uid))
        return ForeignFolder{at.string(), found.st_uid};
    }
    if (at == at.parent_path()) return std::nullopt;
  }
}

// -- making what is missing

[[noreturn]] void fail_on_path(const std::string& what, int error) {
  throw_failure(system_error(what, error));
}

void make_folder(const fs::path& folder) {
  if (::mkdir(folder.c_str(), 0700) == 0 || errno == EEXIST) return;
  if (errno != ENOENT || folder == folder.parent_path())
    fail_on_path("cannot create the folder " + folder.string(), errno);
  make_folder(folder.parent_path());
  if (::mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST)
    fail_on_path("cannot create the folder " + folder.string(), errno);
}

std::string real_path(const fs::path& folder) {
  const std::unique_ptr<char, void (*)(void*)> real(::realpath(folder.c_str(), nullptr), std::free);
  if (!real) fail_on_path("cannot find the folder " + folder.string(), errno);
  return real.get();
}

// As much of the way to it as there is already.
std::string nearest(fs::path folder) {
  struct stat found {};
  while (::stat(folder.c_str(), &found) != 0 && errno == ENOENT && folder != folder.parent_path())
    folder = folder.parent_path();
  return real_path(folder);
}

// Zero, or errno.
int make_empty(const std::string& file, bool shared) {
  if (shared)
    return make_shared_as(file, 0660, [](const std::string& name) {
      return Fd(::open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    });
  // Not open() and close(): closing any descriptor of a file drops the locks that SQLite may have on it in
  // this very process.
  return ::mknod(file.c_str(), S_IFREG | 0600, 0) == 0 ? 0 : errno;
}

void check_place(const std::string& folder, const Machine& machine, const core::Accepted& accepted) {
  for (const Finding& danger : dangers_of(probe_folder(folder, machine))) {
    if (accepted.covers(danger.topic)) continue;
    throw_failure({Errc::refused, danger.what + "; " + danger.advice + ", or add ?accept=" + danger.topic +
                                      " to the URL at your own risk"});
  }
}

}  // namespace

FolderProbe probe_folder(const std::string& folder, const Machine& machine) {
  return {.folder = folder,
          .file_system = machine.file_system(folder),
          .open = open_folder(folder),
          .foreign = foreign_folder(folder)};
}

FileProbe probe_file(const std::string& path) {
  const std::string folder = fs::path(path).parent_path().string();
  return {.path = path,
          .folder = folder,
          .open = everybody_writes(path),
          .sticky_folder = everybody_writes(folder) && open_folder(folder).empty()};
}

int obstacle_in(const std::string& folder) {
  struct statvfs room {};
  if (::faccessat(AT_FDCWD, folder.c_str(), W_OK | X_OK, AT_EACCESS) != 0) return errno;
  if (::statvfs(folder.c_str(), &room) != 0) return errno;
  const bool full = room.f_bavail == 0 || (room.f_files != 0 && room.f_favail == 0);
  return full ? ENOSPC : 0;
}

RoomProbe probe_room(const std::string& folder) {
  RoomProbe probe{.obstacle = obstacle_in(folder)};
  struct statvfs room {};
  if (probe.obstacle != 0 || ::statvfs(folder.c_str(), &room) != 0) return probe;
  probe.bytes = static_cast<std::uint64_t>(room.f_bavail) * room.f_frsize;
  if (room.f_files != 0) probe.files = room.f_favail;
  return probe;
}

void check_files(const std::string& path) {
  for (const char* const suffix : {"", "-wal", "-shm", "-journal"}) check_file(path + suffix);
}

void check_client_folder(const std::string& folder) {
  struct stat found {};
  if (!read_status(folder, found) || !S_ISDIR(found.st_mode))
    refuse_path(
        folder,
        " is not a folder, but Holdfast keeps its clients' FIFOs there; remove it while no process uses "
        "the store");
  check_owner(folder, found);
}

bool is_shared(const std::string& folder) {
  struct stat found {};
  constexpr mode_t for_group = S_ISGID | S_IWGRP;
  return read_status(folder, found) && (found.st_mode & for_group) == for_group && !others_may_write(found);
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

std::string default_path() {
  return (fs::path(user_folder("XDG_STATE_HOME", ".local/state")) / "holdfast" / "leases.db").string();
}

std::string absolute(const std::string& path) {
  std::error_code no_working_directory;
  const fs::path whole = fs::absolute(path, no_working_directory);
  return (no_working_directory ? fs::path(path) : whole).lexically_normal().string();
}

std::string folder_so_far(const std::string& path) { return nearest(fs::path(path).parent_path()); }

std::string make_file(const std::string& path, const Machine& machine, const core::Accepted& accepted) {
  const fs::path folder = fs::path(path).parent_path();
  const std::string before = nearest(folder);
  check_place(before, machine, accepted);
  make_folder(folder);
  const std::string real = real_path(folder);
  if (real != before) check_place(real, machine, accepted);

  const std::string file = (fs::path(real) / fs::path(path).filename()).string();
  check_files(file);  // also what lies beside a file that is yet to be made
  const int error = make_empty(file, is_shared(real));
  if (error != 0 && error != EEXIST) fail_on_path("cannot create " + file, error);
  check_files(file);
  return file;
}

}  // namespace holdfast::sqlite
