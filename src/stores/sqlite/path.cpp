// SPDX-License-Identifier: Apache-2.0
#include "stores/sqlite/path.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <memory>

#include "base/process.h"
#include "holdfast/result.h"
#include "holdfast/sqlite.h"
#include "stores/sqlite/fault.h"
#include "stores/sqlite/file_system.h"
#include "stores/sqlite/ownership.h"

namespace holdfast::sqlite {
namespace {

namespace fs = std::filesystem;

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
  for (const Finding& danger : dangers_of(folder, machine)) {
    if (accepted.covers(danger.topic)) continue;
    throw_failure({Errc::refused, danger.what + "; " + danger.advice + ", or add ?accept=" + danger.topic +
                                      " to the URL and bear the risk"});
  }
}

}  // namespace

std::string default_path() {
  return (fs::path(user_folder("XDG_STATE_HOME", ".local/state")) / "holdfast" / "leases.db").string();
}

std::string absolute(const std::string& path) {
  std::error_code no_working_directory;
  const fs::path whole = fs::absolute(path, no_working_directory);
  return (no_working_directory ? fs::path(path) : whole).lexically_normal().string();
}

std::string folder_so_far(const std::string& path) { return nearest(fs::path(path).parent_path()); }

std::vector<Finding> dangers_of(const std::string& folder, const Machine& machine) {
  std::vector<Finding> dangers;
  if (const char* const unsafe = unsafe_file_system(machine.file_system(folder))) {
    dangers.push_back(
        {Severity::danger, "sqlite.file-system",
         folder + " is on " + unsafe +
             ", where locks and shared memory may not work between processes, so two owners could "
             "hold one key",
         "keep the file on a local disk"});
  }
  if (const std::string open = open_folder(folder); !open.empty()) {
    dangers.push_back(
        {Severity::danger, "sqlite.open-folder",
         folder + " is not safe for leases: every user may write " + open + " and could replace the file",
         "chmod o-w " + open});
  }
  if (const auto foreign = foreign_folder(folder)) {
    dangers.push_back(
        {Severity::danger, "sqlite.foreign-folder",
         folder + " is not safe for leases: " + foreign->path + " belongs to another user (uid " +
             std::to_string(foreign->owner) + "), who could replace the file",
         "run as that user, keep the file in a folder of your own (with sudo: sudo -H), or share "
         "a folder through a common group (mode 2770)"});
  }
  return dangers;
}

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
