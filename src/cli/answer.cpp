// SPDX-License-Identifier: Apache-2.0
#include "cli/answer.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

namespace holdfast::cli {
namespace {

constexpr const char* nowhere = "/dev/null";

bool& stdout_was_closed() {
  static bool closed = false;
  return closed;
}

// The first errno; 0: all went well.  stdio tells only that something went wrong, and errno has been others'
// since.
int& trouble() {
  static int error = 0;
  return error;
}

}  // namespace

void fill_standard_descriptors() {
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(fd, F_GETFD) >= 0 || errno != EBADF) continue;
    stdout_was_closed() = stdout_was_closed() || fd == STDOUT_FILENO;
    // The lowest that is free is this one.
    (void)!::open(nowhere, fd == STDOUT_FILENO ? O_RDONLY : O_RDWR);
  }
}

void let_stdout_take_all() {
  if (!stdout_was_closed()) return;
  const int fd = ::open(nowhere, O_RDWR | O_CLOEXEC);
  if (fd < 0) return;
  ::dup2(fd, STDOUT_FILENO);
  ::close(fd);
}

void note_written(bool written) {
  if (!written && trouble() == 0) trouble() = errno != 0 ? errno : EIO;
}

Status answered() {
  note_written(std::fflush(stdout) == 0);
  return trouble() == 0 ? Status{} : Status(unwritten(trouble()));
}

Error unwritten(int error) {
  const char* const why = error == EBADF ? "stdout is not open for writing" : std::strerror(error);
  return {Errc::refused, std::string("cannot write the answer: ") + why};
}

}  // namespace holdfast::cli
