// SPDX-License-Identifier: Apache-2.0
#include "cli/see/poll_loop.h"

#include <sys/stat.h>
#include <unistd.h>

#include <csignal>

#include "cli/output.h"

namespace holdfast::cli {
namespace {

// Somebody at the other end can go away.
bool is_pipe(int fd) {
  struct stat about {};
  return ::fstat(fd, &about) == 0 && (S_ISFIFO(about.st_mode) || S_ISSOCK(about.st_mode));
}

}  // namespace

PollLoop::PollLoop(StorePoller& poller, Millis interval) : poller_(poller), interval_(interval), closed_({}) {
  std::signal(SIGPIPE, SIG_IGN);
  // A socket may be shut for reading, as the one to systemd's journal is, or somebody may write into it.
  if (is_pipe(STDOUT_FILENO)) closed_.add_end_of(STDOUT_FILENO);
}

std::optional<Look> PollLoop::look(bool first, int& code) {
  auto look = poller_.look();
  if (look) {
    if (std::exchange(away_, false)) complain(poller_.name() + " answers again");
    return *std::move(look);
  }
  if (first || !look.error().retryable()) {
    code = fail(look.error());
  } else if (!std::exchange(away_, true)) {
    complain(look.error().detail + "; trying again");
  }
  return std::nullopt;
}

bool PollLoop::pause() {
  return wakeup_.wait(clamped_add(BootClock::now(), interval_), closed_.fd()) != Wakeup::Why::extra;
}

int PollLoop::go(const std::function<Status(Look)>& tell) {
  int code = exit_ok;
  for (bool first = true;; first = false) {
    auto seen = look(first, code);
    if (code != exit_ok) return code;
    if (seen) {
      const Status told = tell(*std::move(seen));
      if (!told && told.error().code == Errc::stopped) return exit_ok;
      if (!told) return fail(told.error());
    }
    if (!pause()) return exit_ok;
  }
}

}  // namespace holdfast::cli
