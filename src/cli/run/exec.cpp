// SPDX-License-Identifier: Apache-2.0
#include "cli/run/exec.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "base/text.h"
#include "cli/exit_code.h"
#include "cli/output.h"

namespace holdfast::cli {
namespace {

// Where execvp() searches if PATH is not set.
constexpr const char* default_path = "/bin:/usr/bin";

int check_executable(const std::string& path) {
  struct stat file {};
  if (::stat(path.c_str(), &file) != 0) return errno;
  if (!S_ISREG(file.st_mode)) return EACCES;
  return ::faccessat(AT_FDCWD, path.c_str(), X_OK, AT_EACCESS) == 0 ? 0 : errno;
}

bool is_missing(int error) { return error == ENOENT || error == ENOTDIR; }

constexpr const char* give_name = "; give the name of a program in PATH, or its path";
constexpr const char* make_executable = "; make it executable, or give another program";

}  // namespace

std::vector<char*> arguments(const std::vector<std::string>& command) {
  std::vector<char*> argv;
  for (const std::string& word : command) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  return argv;
}

bool outlives_exec(int fd) noexcept {
  for (const int lowest : {64, 16, 3}) {
    if (::fcntl(fd, F_DUPFD, lowest) >= 0) return true;
  }
  return false;
}

int why_not_run(const std::string& program) {
  if (program.find('/') != std::string::npos) return check_executable(program);
  const char* const given = std::getenv("PATH");
  std::string_view rest = given != nullptr ? given : default_path;
  int error = ENOENT;
  for (bool more = true; more;) {
    const std::size_t end = rest.find(':');
    const std::string folder(rest.substr(0, end));
    // An empty folder is the current one.
    const int here = check_executable(folder.empty() ? program : folder + "/" + program);
    if (here == 0) return 0;
    if (here == EACCES) error = EACCES;
    more = end != std::string_view::npos;
    if (more) rest.remove_prefix(end + 1);
  }
  return error;
}

int cannot_run(const std::string& program, int error) {
  const char* const remedy = is_missing(error) ? give_name : error == EACCES ? make_executable : "";
  complain("cannot run \"" + printable(program) + "\": " + std::strerror(error) + remedy);
  return is_missing(error) ? exit_not_found : exit_cannot_run;
}

int cannot_run_on_lost(const std::string& program, int error) {
  const bool has_words = program.find(' ') != std::string::npos;
  const char* const remedy = !is_missing(error) ? make_executable
                             : has_words        ? "; exec: takes no arguments, so give the path of a script"
                                                : give_name;
  complain("cannot run \"" + printable(program) + "\" of --on-lost: " + std::strerror(error) + remedy);
  return is_missing(error) ? exit_not_found : exit_cannot_run;
}

}  // namespace holdfast::cli
