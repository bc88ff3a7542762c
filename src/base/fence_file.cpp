// SPDX-License-Identifier: Apache-2.0
#include "base/fence_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <limits>
#include <optional>
#include <string_view>

#include "base/random.h"
#include "base/text.h"
#include "base/wakeup.h"

namespace holdfast {
namespace {

using Stat = struct stat;

constexpr std::string_view title = "holdfast-fence ";
constexpr std::size_t decimals = 19;  // the length of the largest token
constexpr std::size_t hexadecimals = 16;
constexpr std::size_t line_length = title.size() + decimals + 1 + hexadecimals + 1;
constexpr Millis retry_pause(20);

Error refused(const std::string& path, const std::string& why) {
  return {Errc::refused, "cannot keep the mark in " + printable(path) + ": " + why};
}
Error refused(const std::string& path, int error) { return refused(path, std::strerror(error)); }

std::string line_of(Token token) {
  char text[line_length + 1];
  std::snprintf(text, sizeof text, "%s%019llu %016llx\n", title.data(),
                static_cast<unsigned long long>(to_number(token)),
                static_cast<unsigned long long>(to_number(token)));
  return text;
}

// None: the line was not written by Holdfast.
std::optional<Token> token_in(std::string_view line) {
  std::uint64_t value = 0;
  if (line.size() != line_length) return std::nullopt;
  const char* const digits = line.data() + title.size();
  std::from_chars(digits, digits + decimals, value);
  // from_chars() accepts more than line_of() writes.  The comparison rejects that.
  return line == line_of(Token{value}) ? std::optional(Token{value}) : std::nullopt;
}

std::string folder_of(const std::string& path) { return path.substr(0, path.rfind('/') + 1); }

// The owner and the permissions of FILE, or of its folder while there is no FILE.
struct Fenced {
  bool exists;
  Stat stat;

  // Whether a mark that belongs to another user was written by somebody who may write FILE.
  bool may_be_marked_by_others(const Stat& mark) const {
    if (!exists)  // a user who can create the sidecar in the folder could have created FILE as well
      return (stat.st_mode & (S_IWGRP | S_IWOTH)) != 0 && (stat.st_mode & S_ISVTX) == 0;
    if ((stat.st_mode & S_IWOTH) != 0) return true;
    return (stat.st_mode & S_IWGRP) != 0 && mark.st_gid == stat.st_gid && (mark.st_mode & S_IWOTH) == 0;
  }
};

Result<Fenced> read_permissions(const std::string& file, const std::string& sidecar) {
  Fenced fenced{true, {}};
  if (::stat(file.c_str(), &fenced.stat) == 0) return fenced;
  fenced.exists = false;
  if (::stat(folder_of(sidecar).c_str(), &fenced.stat) != 0) return refused(sidecar, errno);
  return fenced;
}

// Users who may write FILE may claim.  Nobody else may open the sidecar, because reading is enough to lock
// it.
mode_t mode_for(const Fenced& fenced) {
  mode_t mode = S_IRUSR | S_IWUSR;
  if (!fenced.exists) return mode;
  if ((fenced.stat.st_mode & S_IWGRP) != 0) mode |= S_IRGRP | S_IWGRP;
  if ((fenced.stat.st_mode & S_IWOTH) != 0) mode |= S_IROTH | S_IWOTH;
  return mode;
}

// Whether the file has two names for longer than move_to_free_name() needs.
bool keeps_second_name(int fd) {
  Stat found{};
  for (int checks = 0; ::fstat(fd, &found) == 0 && found.st_nlink > 1; ++checks) {
    if (checks == 10) return true;
    Wakeup().wait(BootClock::now() + retry_pause);
  }
  return false;
}

// Refuses a sidecar that another user may have planted.
Status check_sidecar(int fd, const std::string& path, const Fenced& fenced) {
  Stat found{};
  if (::fstat(fd, &found) != 0) return refused(path, errno);
  if (!S_ISREG(found.st_mode)) return refused(path, "it is not a regular file; remove it");
  if (keeps_second_name(fd)) return refused(path, "it has a second name (a hard link); remove it");
  const bool trusted = found.st_uid == ::geteuid() || found.st_uid == 0 ||
                       found.st_uid == fenced.stat.st_uid || fenced.may_be_marked_by_others(found);
  if (!trusted)
    return refused(path, "it belongs to a user who may not write the fenced file (uid " +
                             std::to_string(found.st_uid) + "); remove it");
  return Status{};
}

// Gives the sidecar the owner and the permissions of FILE, as far as the system lets us.
// REQUIRES: Holdfast made the sidecar, or it contains a mark and nothing else.  A user who may rename files
// in the folder can put any other file in its place, and we must not change that one.
void hand_over(int fd, const Fenced& fenced) {
  constexpr mode_t permissions = 07777;
  Stat found{};
  if (!fenced.exists || ::fstat(fd, &found) != 0) return;
  if (found.st_uid != ::geteuid() && ::geteuid() != 0) return;
  mode_t mode = mode_for(fenced);
  const bool same_group =
      found.st_gid == fenced.stat.st_gid || ::fchown(fd, static_cast<uid_t>(-1), fenced.stat.st_gid) == 0;
  if (!same_group) mode &= ~mode_t{S_IRWXG};  // they would be the permissions of another group
  if (found.st_uid != fenced.stat.st_uid) (void)!::fchown(fd, fenced.stat.st_uid, static_cast<gid_t>(-1));
  if ((found.st_mode & permissions) != mode) (void)::fchmod(fd, mode);
}

constexpr int to_open = O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY;

// None: there is no sidecar yet.
Result<Fd> open_sidecar(const std::string& path) {
  Fd fd(::open(path.c_str(), to_open));
  if (fd || errno == ENOENT) return fd;
  if (errno == ELOOP) return refused(path, "it is a symbolic link; remove it");
  return refused(path, errno);
}

// Zero, or errno.
int set_lock(int fd, int how) {
  struct flock whole {};
  whole.l_type = F_WRLCK;
  whole.l_whence = SEEK_SET;
  int error = 0;
  do {
    error = ::fcntl(fd, how, &whole) == 0 ? 0 : errno;
  } while (error == EINTR);
  return error;
}

Result<Token> read_mark(int fd, const std::string& path) {
  char text[line_length + 1];
  const ssize_t got = ::pread(fd, text, sizeof text, 0);
  if (got < 0) return refused(path, errno);
  if (got == 0)
    return refused(
        path,
        "it is empty, so Holdfast did not write it; make sure that no other program uses it and that "
        "no older holder is still at work, then delete it");
  const auto token = token_in({text, static_cast<std::size_t>(got)});
  if (token) return *token;
  return refused(
      path,
      "its content is not a mark of Holdfast, or is damaged; make sure that no older holder is still "
      "at work, then delete it");
}

// `end` is the end of `wait`.
Status lock(int fd, const std::string& path, const std::string& file, Millis wait, Instant end) {
  int error = set_lock(fd, F_OFD_SETLK);
  if (error == EAGAIN && wait == forever) error = set_lock(fd, F_OFD_SETLKW);
  if (error == EAGAIN && wait > Millis::zero()) {
    // The kernel wakes only F_OFD_SETLKW, which has no timeout.
    for (Wakeup pause; error == EAGAIN && BootClock::now() < end;) {
      pause.wait(std::min(end, BootClock::now() + retry_pause));
      error = set_lock(fd, F_OFD_SETLK);
    }
  }
  if (error == 0) return Status{};
  if (error != EAGAIN) return refused(path, error);
  const auto inside = read_mark(fd, path);
  return Error{wait > Millis::zero() ? Errc::timeout : Errc::busy,
               printable(file) + " is in use by another holder" +
                   (inside ? " under token " + std::to_string(to_number(*inside)) : "") +
                   "; try again later, or give a longer wait"};
}

Status sync_folder(int fd, const std::string& path) {
  const Fd folder(::open(folder_of(path).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  // Without permission to read the folder, only its whole file system can be synced.
  const bool unreadable = !folder && errno == EACCES;
  if (unreadable ? ::syncfs(fd) != 0 : !folder || ::fsync(folder.get()) != 0) return refused(path, errno);
  return Status{};
}

Status write_line(int fd, const std::string& path, Token token) {
  const std::string line = line_of(token);
  const ssize_t written = ::pwrite(fd, line.data(), line.size(), 0);
  if (written < 0) return refused(path, errno);
  if (static_cast<std::size_t>(written) != line.size()) return refused(path, ENOSPC);
  if (::fsync(fd) != 0) return refused(path, errno);
  return Status{};
}

// Writes and syncs also a mark that is already there: the process that wrote it may have died before fsync(),
// or fsync() may have failed.  The same is true for the folder.
Status write_mark(int fd, const std::string& path, Token token) {
  if (Status s = write_line(fd, path, token); !s) return s;
  return sync_folder(fd, path);
}

// Zero, or errno: EEXIST if that name is not free.
int move_to_free_name(const std::string& from, const std::string& to) {
  if (::renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_NOREPLACE) == 0) return 0;
  int error = errno;
  // NFS and a few others do not support that.  There the file has two names for a moment.
  if (error == EINVAL || error == ENOSYS) error = ::link(from.c_str(), to.c_str()) == 0 ? 0 : errno;
  (void)::unlink(from.c_str());
  return error;
}

// Creates the sidecar, locked and with the mark in it, before other processes can find it.  None: another
// process was faster.
Result<Fd> make_sidecar(const std::string& path, const Fenced& fenced, Token token) {
  const std::string draft = folder_of(path) + ".holdfast-fence." + random_hex(16);
  Fd fd(::open(draft.c_str(), to_open | O_CREAT | O_EXCL, S_IRUSR | S_IWUSR));
  if (!fd) return refused(path, errno);
  const int unlocked = set_lock(fd.get(), F_OFD_SETLK);
  hand_over(fd.get(), fenced);
  const Status written = unlocked == 0 ? write_line(fd.get(), path, token) : Status(refused(path, unlocked));
  if (!written) {
    (void)::unlink(draft.c_str());
    return written.error();
  }
  const int error = move_to_free_name(draft, path);
  if (error == EEXIST) return Fd();
  if (error != 0) return refused(path, error);
  if (Status s = sync_folder(fd.get(), path); !s) return std::move(s).error();
  return fd;
}

// False if the sidecar or its folder was deleted or moved: others may now find another file at that path.
bool is_still_there(int fd, const std::string& path) {
  Stat ours{}, there{};
  return ::fstat(fd, &ours) == 0 && ::lstat(path.c_str(), &there) == 0 && ours.st_dev == there.st_dev &&
         ours.st_ino == there.st_ino;
}

}  // namespace

Status check_claim(Token token, Token seen, const std::string& what) {
  if (token == no_token || to_number(token) > std::uint64_t{std::numeric_limits<std::int64_t>::max()})
    return Error{Errc::invalid,
                 std::to_string(to_number(token)) + " is not a token; give the token of the lease"};
  if (token >= seen) return Status{};
  Error error{Errc::lost, "token " + std::to_string(to_number(token)) + " is too old: " + what +
                              " has already seen token " + std::to_string(to_number(seen))};
  error.loss = Loss::stolen;
  return error;
}

Result<std::string> fence_path(const std::string& file) {
  namespace fs = std::filesystem;
  if (file.empty() || file.find('\0') != std::string::npos)
    return Error{Errc::invalid,
                 "\"" + printable(file) + "\" is not a path; give the path of the file to fence"};
  std::error_code error;
  fs::path path(file);
  const auto adds_nothing = [](const fs::path& name) { return name.empty() || name == "."; };
  while (adds_nothing(path.filename()) && path.has_relative_path() && path.has_parent_path())
    path = path.parent_path();
  // The mark would belong to the link's target of today.  After the link is changed, an old token would be
  // accepted.
  if (fs::is_symlink(fs::symlink_status(path, error))) {
    const fs::path target = fs::canonical(path, error);
    return Error{Errc::refused,
                 "cannot fence " + printable(file) + ": it is a symbolic link" +
                     (error ? " whose target does not exist; give the path of the target"
                            : ", and its target can change; give the target, " + printable(target.string()))};
  }
  const bool is_name = !path.filename().empty() && path.filename() != "." && path.filename() != "..";
  const fs::path folder = is_name ? path.parent_path() : path;
  fs::path real = fs::canonical(folder.empty() ? "." : folder, error);
  if (error)
    return Error{Errc::refused,
                 "cannot fence " + printable(file) + ": its folder cannot be used: " + error.message()};
  if (is_name) real /= path.filename();
  if (!real.has_filename())
    return Error{Errc::invalid, "cannot fence " + printable(file) +
                                    ": it has no parent folder for the mark; give another path"};
  return (real.parent_path() / ("." + real.filename().string() + ".fence")).string();
}

Result<FenceFile> FenceFile::claim(const std::string& file, Token token, Millis wait) {
  if (Status s = check_claim(token, no_token, file); !s) return std::move(s).error();
  const Instant end = clamped_add(BootClock::now(), wait);
  for (;;) {
    const auto path = fence_path(file);
    if (!path) return path.error();
    const auto fenced = read_permissions(file, *path);
    if (!fenced) return fenced.error();
    auto sidecar = open_sidecar(*path);
    if (sidecar && !*sidecar) {
      auto made = make_sidecar(*path, *fenced, token);
      if (!made) return std::move(made).error();
      if (*made && is_still_there(made->get(), *path)) return FenceFile(*std::move(made));
      continue;
    }
    if (!sidecar) return std::move(sidecar).error();
    const int fd = sidecar->get();
    if (Status s = check_sidecar(fd, *path, *fenced); !s) return std::move(s).error();
    if (Status s = lock(fd, *path, file, wait, end); !s) return std::move(s).error();
    if (!is_still_there(fd, *path)) continue;  // we have locked a file that others do not find
    const auto seen = read_mark(fd, *path);
    if (!seen) return seen.error();
    const auto now = read_permissions(file, *path);  // FILE may have been replaced during the wait
    if (now) hand_over(fd, *now);
    if (Status s = check_claim(token, *seen, printable(file)); !s) return std::move(s).error();
    if (Status s = write_mark(fd, *path, token); !s) return std::move(s).error();
    return FenceFile(*std::move(sidecar));
  }
}

}  // namespace holdfast
