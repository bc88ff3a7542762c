// SPDX-License-Identifier: Apache-2.0
#include "stores/sqlite/fault.h"

#include <sqlite3.h>

#include <cerrno>
#include <cstring>

namespace holdfast::sqlite {
namespace {

int primary(int code) { return code & 0xff; }

bool may_pass(int error) {
  switch (error) {
    case EMFILE:
    case ENFILE:
    case ENOMEM:
    case ENOSPC:
    case EDQUOT:
    case EIO:
    case EINTR:
    case EAGAIN:
    case EBUSY:
    case ESTALE:
    case ETIMEDOUT: return true;
  }
  return false;
}

const char* advice(int error) {
  switch (error) {
    case EMFILE: return "; close some, or raise the limit (ulimit -n)";
    case ENFILE: return "; close some, or raise the machine's limit (fs.file-max)";
    case ENOSPC:
    case EDQUOT: return "; make room there";
    case EROFS: return "; give a path that can be written";
    case EACCES:
    case EPERM: return "; run as a user who may write the file and its folder";
  }
  return "";
}

std::string words(int error) { return std::string(std::strerror(error)) + advice(error); }

Error cannot_open(const Trouble& trouble, const std::string& path) {
  const std::string what = "cannot open " + path + " or a file beside it";
  if (trouble.code == SQLITE_CANTOPEN_SYMLINK)
    return {Errc::refused, what + ": one of them is a symbolic link; remove it"};
  // SQLite does not always say why; it may be gone for a moment, as in ENOENT.
  if (trouble.system_errno == 0 || trouble.system_errno == ENOENT)
    return {Errc::unavailable, what + ": " + trouble.text};
  return system_error(what, trouble.system_errno);
}

// The commit is the last of what is written: it is not there if there was no room for all of it.  Of a quota
// SQLite does not say that it is full, and a file beside it may be what could not grow.
bool lacked_room(const Trouble& trouble) {
  return primary(trouble.code) == SQLITE_FULL ||
         (trouble.code == SQLITE_IOERR_WRITE && trouble.system_errno == EDQUOT);
}

Error cannot_write(const Trouble& trouble, During during, const std::string& path) {
  const int error = primary(trouble.code) == SQLITE_FULL ? ENOSPC : trouble.system_errno;
  const std::string why = error != 0 ? words(error) : trouble.text;
  return during == During::commit && !lacked_room(trouble)
             ? Error{Errc::in_doubt,
                     "writing " + path +
                         " failed, and it is not known whether the change took effect: " + why}
             : Error{Errc::unavailable, "cannot read or write " + path + ": " + why};
}

}  // namespace

bool is_busy(int code) noexcept {
  return primary(code) == SQLITE_BUSY || primary(code) == SQLITE_LOCKED || primary(code) == SQLITE_PROTOCOL;
}

Error system_error(const std::string& what, int error) {
  return {may_pass(error) ? Errc::unavailable : Errc::refused, what + ": " + words(error)};
}

Error to_error(const Trouble& trouble, During during, const std::string& path) {
  if (trouble.code == SQLITE_BUSY_SNAPSHOT) {
    return {Errc::unavailable, path +
                                   " was changed by another process since this transaction first read it; "
                                   "roll it back, and start it with BEGIN IMMEDIATE"};
  }
  if (is_busy(trouble.code)) {
    return {Errc::unavailable, path + ": timed out while other processes were writing the file"};
  }
  const Errc unless_committed = during == During::commit ? Errc::in_doubt : Errc::unavailable;
  switch (primary(trouble.code)) {
    case SQLITE_IOERR:
    case SQLITE_FULL: return cannot_write(trouble, during, path);
    case SQLITE_INTERRUPT:
      // SQLite looks at the clock behind a commit too.
      return {unless_committed, path + ": timed out"};
    case SQLITE_NOMEM: return {unless_committed, path + ": " + trouble.text};
    case SQLITE_SCHEMA: return {Errc::unavailable, path + ": " + trouble.text};
    case SQLITE_CANTOPEN: return cannot_open(trouble, path);
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_AUTH: return {Errc::refused, path + " is not writable for this user" + advice(EACCES)};
    case SQLITE_NOTADB:
      return {Errc::refused, path + " is not a Holdfast database, so nothing was changed; give another path"};
    case SQLITE_TOOBIG:
    case SQLITE_CORRUPT:
      return {Errc::refused, path + " is damaged (" + trouble.text +
                                 "), so nothing was changed; move it away while no process uses it"};
  }
  return {Errc::refused, path + " lacks the tables of this version of Holdfast: " + trouble.text +
                             "; check the path, or give that of a new file"};
}

}  // namespace holdfast::sqlite
