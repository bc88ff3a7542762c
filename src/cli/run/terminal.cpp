// SPDX-License-Identifier: Apache-2.0
#include "cli/run/terminal.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace holdfast::cli {

Terminal::Terminal() : tty_(::open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC)), home_(::getpgrp()) {}

bool Terminal::belongs_to(pid_t group) const noexcept { return tty_ && ::tcgetpgrp(tty_.get()) == group; }

bool Terminal::is_in_pipeline() noexcept {
  const auto is_pipe = [](int fd) {
    struct stat about {};
    // Some shells make their pipes of sockets.
    return ::fstat(fd, &about) == 0 && (S_ISFIFO(about.st_mode) || S_ISSOCK(about.st_mode));
  };
  return is_pipe(STDIN_FILENO) || is_pipe(STDOUT_FILENO);
}

void Terminal::give_to(pid_t group) const noexcept {
  if (tty_) ::tcsetpgrp(tty_.get(), group);
}

void Terminal::take_back_from(pid_t group) const noexcept {
  if (belongs_to(group)) give_to(home_);
}

}  // namespace holdfast::cli
