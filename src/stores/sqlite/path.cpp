// SPDX-License-Identifier: Apache-2.0
#include "stores/sqlite/path.h"

#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>

#include "holdfast/result.h"
#include "holdfast/sqlite.h"

namespace holdfast::sqlite {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail(const std::string& what, int error) {
  const bool passing =
      error == EMFILE || error == ENFILE || error == ENOMEM || error == ENOSPC || error == EIO;
  raise({passing ? Errc::unavailable : Errc::refused, what + ": " + std::strerror(error)});
}

void make_folder(const fs::path& folder) {
  if (::mkdir(folder.c_str(), 0700) == 0 || errno == EEXIST) return;
  if (errno != ENOENT || folder == folder.parent_path())
    fail("cannot make the folder " + folder.string(), errno);
  make_folder(folder.parent_path());
  if (::mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST)
    fail("cannot make the folder " + folder.string(), errno);
}

std::string home() {
  if (const char* home = ::secure_getenv("HOME"); home != nullptr && home[0] == '/') return home;
  std::array<char, 4096> space;
  passwd entry{};
  passwd* found = nullptr;
  ::getpwuid_r(::geteuid(), &entry, space.data(), space.size(), &found);
  return found != nullptr ? found->pw_dir : "/";
}

}  // namespace

std::string default_path() {
  const char* state = ::secure_getenv("XDG_STATE_HOME");
  const bool given =
      state != nullptr && state[0] == '/';  // by its specification a relative one does not count
  return (fs::path(given ? state : home() + "/.local/state") / "holdfast" / "leases.db").string();
}

std::string absolute(const std::string& path) {
  std::error_code no_working_directory;
  const fs::path whole = fs::absolute(path, no_working_directory);
  return (no_working_directory ? fs::path(path) : whole).lexically_normal().string();
}

std::string make_file(const std::string& path) {
  const fs::path folder = fs::path(path).parent_path();
  make_folder(folder);
  const std::unique_ptr<char, void (*)(void*)> real(::realpath(folder.c_str(), nullptr), std::free);
  if (!real) fail("cannot find the folder " + folder.string(), errno);
  const std::string file = (fs::path(real.get()) / fs::path(path).filename()).string();

  // Not open() and close(): closing any descriptor of a file drops the locks that SQLite may have on it in
  // this very process.
  if (::mknod(file.c_str(), S_IFREG | 0600, 0) != 0 && errno != EEXIST) fail("cannot make " + file, errno);
  struct stat found {};
  if (::lstat(file.c_str(), &found) != 0) fail("cannot open " + file, errno);
  if (!S_ISREG(found.st_mode))
    raise({Errc::refused, file + " is not a regular file; give the path of one, or of none yet"});
  if (found.st_nlink > 1) raise({Errc::refused, file + " has several names (hard links); keep one of them"});
  return file;
}

}  // namespace holdfast::sqlite
