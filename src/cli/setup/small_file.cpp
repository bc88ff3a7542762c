// SPDX-License-Identifier: Apache-2.0
#include "cli/setup/small_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "base/fd.h"

namespace holdfast::cli {
namespace {

constexpr std::size_t largest = 1 << 20;

// What is not there may be lost: the path, or a folder of it, is a link that leads nowhere.
bool leads_nowhere(std::filesystem::path path) {
  namespace fs = std::filesystem;
  std::error_code ignored;
  for (; path.has_relative_path(); path = path.parent_path()) {
    const fs::file_status found = fs::symlink_status(path, ignored);
    if (fs::exists(found)) return fs::is_symlink(found) && !fs::exists(path, ignored);
  }
  return false;
}

Error because(int error) { return {Errc::refused, std::strerror(error)}; }

}  // namespace

Result<std::optional<SmallFile>> read_small_file(const std::string& path) {
  // Nonblocking, for a FIFO without a writer would keep us.
  const Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (!file && (errno == ENOENT || errno == ENOTDIR)) {
    if (leads_nowhere(path))
      return Error{Errc::refused, "a symbolic link in its path is broken; fix or remove the link"};
    return std::optional<SmallFile>();
  }
  struct stat found {};
  if (!file || ::fstat(file.get(), &found) != 0) return because(errno);
  if (!S_ISREG(found.st_mode)) return Error{Errc::refused, "it is not a regular file"};
  SmallFile out{{}, found.st_mode, found.st_uid};
  std::array<char, 8192> bytes;
  while (true) {
    const ssize_t size = ::read(file.get(), bytes.data(), bytes.size());
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) return because(errno);
    if (size == 0) break;
    out.text.append(bytes.data(), static_cast<std::size_t>(size));
    if (out.text.size() > largest)
      return Error{Errc::refused, "it is larger than 1 MiB; give a smaller file"};
  }
  ::explicit_bzero(bytes.data(), bytes.size());
  return std::optional(std::move(out));
}

std::string distrust(const SmallFile& file) {
  if (file.owner != 0 && file.owner != ::geteuid())
    return "it belongs to another user (uid " + std::to_string(file.owner) +
           "), who could make holdfast use another store; chown it";
  if ((file.mode & 022) != 0)
    return "others may write it, and could make holdfast use another store; run chmod go-w";
  return "";
}

std::string first_line_of(const std::string& text) {
  std::string line = text.substr(0, text.find_first_of("\r\n"));
  line.erase(0, std::min(line.find_first_not_of(" \t"), line.size()));
  line.resize(line.find_last_not_of(" \t") + 1);
  return line;
}

}  // namespace holdfast::cli
