// SPDX-License-Identifier: Apache-2.0
#include "stores/sqlite/fault.h"

#include <sqlite3.h>

#include <cerrno>
#include <cstring>

namespace holdfast::sqlite {
namespace {

int primary(int code) { return code & 0xff; }

bool is_permission(int error) {
  return error == EACCES || error == EPERM || error == EROFS || error == ELOOP;
}

Error cannot_open(const Trouble& trouble, const std::string& path) {
  std::string why = trouble.system_errno != 0 ? std::strerror(trouble.system_errno) : trouble.text;
  const bool refused = is_permission(trouble.system_errno) || trouble.code == SQLITE_CANTOPEN_SYMLINK;
  return {refused ? Errc::refused : Errc::unavailable,
          "cannot open " + path + ": " + why +
              "; the file, its folder and what lies beside it must be ours to write"};
}

}  // namespace

bool is_busy(int code) noexcept {
  return primary(code) == SQLITE_BUSY || primary(code) == SQLITE_LOCKED || primary(code) == SQLITE_PROTOCOL;
}

Error to_error(const Trouble& trouble, During during, const std::string& path) {
  if (is_busy(trouble.code)) {
    return {Errc::unavailable, path + " was being written by others for as long as this call could wait"};
  }
  switch (primary(trouble.code)) {
    case SQLITE_IOERR:
    case SQLITE_FULL:
      return during == During::commit
                 ? Error{Errc::in_doubt, "writing " + path + " failed half-way: " + trouble.text}
                 : Error{Errc::unavailable, "cannot read or write " + path + ": " + trouble.text};
    case SQLITE_NOMEM:
    case SQLITE_INTERRUPT:
    case SQLITE_SCHEMA: return {Errc::unavailable, path + ": " + trouble.text};
    case SQLITE_CANTOPEN: return cannot_open(trouble, path);
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_AUTH: return {Errc::refused, path + " may not be written by this user: " + trouble.text};
    case SQLITE_NOTADB:
      return {Errc::refused, path + " is not a Holdfast database; nothing was changed, give another path"};
    case SQLITE_CORRUPT:
      return {Errc::refused, path + " is damaged (" + trouble.text +
                                 "); nothing was changed, move it away while nobody uses it"};
  }
  return {Errc::refused, path + " does not have the tables of this version: " + trouble.text};
}

}  // namespace holdfast::sqlite
