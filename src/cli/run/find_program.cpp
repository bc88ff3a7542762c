// SPDX-License-Identifier: Apache-2.0
#include "cli/run/find_program.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <string_view>

namespace holdfast::cli {
namespace {

// Where execvp() looks if there is no PATH.
constexpr const char* usual_path = "/bin:/usr/bin";

int look_at(const std::string& path) {
  struct stat file {};
  if (::stat(path.c_str(), &file) != 0) return errno;
  if (!S_ISREG(file.st_mode)) return EACCES;
  return ::faccessat(AT_FDCWD, path.c_str(), X_OK, AT_EACCESS) == 0 ? 0 : errno;
}

}  // namespace

int why_not_run(const std::string& program) {
  if (program.find('/') != std::string::npos) return look_at(program);
  const char* const given = std::getenv("PATH");
  std::string_view rest = given != nullptr ? given : usual_path;
  int error = ENOENT;
  for (bool more = true; more;) {
    const std::size_t end = rest.find(':');
    const std::string folder(rest.substr(0, end));
    const int here = look_at(folder.empty() ? program : folder + "/" + program);  // none: the current one
    if (here == 0) return 0;
    if (here == EACCES) error = EACCES;
    more = end != std::string_view::npos;
    if (more) rest.remove_prefix(end + 1);
  }
  return error;
}

}  // namespace holdfast::cli
