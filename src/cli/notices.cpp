// SPDX-License-Identifier: Apache-2.0
#include "cli/notices.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "base/fd.h"
#include "base/process.h"
#include "base/text.h"
#include "base/time.h"
#include "cli/output.h"
#include "holdfast/rows.h"

namespace holdfast::cli {
namespace {

using namespace std::chrono_literals;

// None unless it is ours and nobody else may write into it.
Fd if_own(Fd folder) {
  struct stat found {};
  const bool own = folder && ::fstat(folder.get(), &found) == 0 && found.st_uid == ::geteuid() &&
                   (found.st_mode & (S_IWGRP | S_IWOTH)) == 0;
  return own ? std::move(folder) : Fd();
}

Fd open_own_folder(const std::filesystem::path& path) {
  return if_own(Fd(::open(path.c_str(), O_DIRECTORY | O_RDONLY | O_CLOEXEC)));
}

// Creates it if it is missing, but only in a folder of ours: root creates nothing in the home of a user.
Fd make_own_folder(const std::filesystem::path& path) {
  if (Fd folder = open_own_folder(path)) return folder;
  if (path == path.parent_path() || ::access(path.c_str(), F_OK) == 0) return {};
  const Fd above = make_own_folder(path.parent_path());
  if (!above || (::mkdirat(above.get(), path.filename().c_str(), 0700) != 0 && errno != EEXIST)) return {};
  return open_own_folder(path);
}

// Where everybody may create files, but nobody else may rename or delete ours.  Another user may have put
// something there in our name: that is not used.
Fd make_temporary_folder() {
  const char* const given = ::secure_getenv("TMPDIR");
  const Fd above(
      ::open(given != nullptr && given[0] == '/' ? given : "/tmp", O_DIRECTORY | O_RDONLY | O_CLOEXEC));
  struct stat found {};
  if (!above || ::fstat(above.get(), &found) != 0) return {};
  const bool of_others = found.st_uid != 0 && found.st_uid != ::geteuid();
  const bool open_to_all = (found.st_mode & (S_IWGRP | S_IWOTH)) != 0 && (found.st_mode & S_ISVTX) == 0;
  if (of_others || open_to_all) return {};
  const std::string name = "holdfast-" + std::to_string(::geteuid());
  if (::mkdirat(above.get(), name.c_str(), 0700) != 0 && errno != EEXIST) return {};
  return if_own(Fd(::openat(above.get(), name.c_str(), O_DIRECTORY | O_RDONLY | O_NOFOLLOW | O_CLOEXEC)));
}

// The state folder; otherwise the session folder, which is removed when the user logs out; otherwise, as for
// an account of cron's that has no home, one for temporary files.
Fd notices_folder() {
  if (Fd folder = make_own_folder(std::filesystem::path(user_folder("XDG_STATE_HOME", ".local/state")) /
                                  "holdfast" / "told"))
    return folder;
  const char* const session = ::secure_getenv("XDG_RUNTIME_DIR");
  if (session != nullptr && session[0] == '/')
    if (Fd folder = make_own_folder(std::filesystem::path(session) / "holdfast" / "told")) return folder;
  return make_temporary_folder();
}

// The same for the same line and host in every process (FNV-1a).
std::string name_of(std::string_view line) {
  utsname host{};
  ::uname(&host);
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char c : std::string(&host.nodename[0]) + "\n" + std::string(line))
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  std::array<char, 16> digits;
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), hash, 16).ptr;
  return {digits.data(), end};
}

}  // namespace

bool is_due_today(std::string_view line) {
  const Fd folder = notices_folder();
  if (!folder) return true;
  const std::string name = name_of(line);
  struct stat printed {};
  if (::fstatat(folder.get(), name.c_str(), &printed, AT_SYMLINK_NOFOLLOW) == 0) {
    const Micros age = wall_now() - std::chrono::sys_seconds(std::chrono::seconds(printed.st_mtim.tv_sec));
    if (age >= 0s && age < 24h) return false;
  }
  // The file holds the line, so that people see what the file is for.
  const Fd stamp(
      ::openat(folder.get(), name.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600));
  const std::string text = std::string(line) + "\n";
  (void)!::write(stamp.get(), text.data(), text.size());
  return true;
}

ClientOptions with_notices(bool quiet) {
  ClientOptions options;
  options.log = [](std::string_view line) { complain(printable(line)); };
  options.on_finding = [quiet](const Finding&, std::string_view line) {
    if (!quiet && is_due_today(line)) complain(printable(line));
  };
  return options;
}

}  // namespace holdfast::cli
