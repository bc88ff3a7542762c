// SPDX-License-Identifier: Apache-2.0
#include "cli/run/command_process.h"

#include <fcntl.h>
#include <linux/close_range.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <system_error>

#include "cli/run/exec.h"

namespace holdfast::cli {
namespace {

void set_environment(const Work& work, const Start& start) {
  ::setenv("HOLDFAST_KEY", work.key.c_str(), 1);
  ::setenv("HOLDFAST_TOKEN", std::to_string(to_number(start.token)).c_str(), 1);
  ::setenv("HOLDFAST_OWNER", start.owner.data(), 1);
  ::setenv("HOLDFAST_DEADLINE", std::to_string(start.wall_deadline_s).c_str(), 1);
  for (const auto& [name, value] : work.environment) ::setenv(name.c_str(), value.c_str(), 1);
}

// All that is open stays behind, but for 0, 1, 2 and the proof of life.
bool keep_descriptors(int proof) noexcept {
  if (::close_range(3, ~0U, CLOSE_RANGE_CLOEXEC) != 0) return false;
  return proof < 0 || outlives_exec(proof);
}

// In the child.  Comes back only if CMD cannot be run; errno says why.
void become_command(const Stage& stage, char* const* argv, pid_t guard, int line) noexcept {
  ::setpgid(0, 0);
  if (stage.work.ending.on_lost != OnLost::ignore) ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  char go = 0;
  // End of file: the guard died before it could tell the main process about us.  Had it died before the
  // line above was in force, our parent would be another.
  if (::read(line, &go, 1) != 1 || ::getppid() != guard) ::_exit(EXIT_FAILURE);
  if (stage.start.foreground) stage.terminal.give_to(::getpid());
  if (stage.input >= 0 && ::dup2(stage.input, STDIN_FILENO) < 0) return;
  if (!keep_descriptors(stage.proof)) return;
  stage.signals.restore();
  // Ignored, reading would fail instead: a shell's $(...) is found so.
  if (stage.start.may_ask) {
    for (const int signal : {SIGTTIN, SIGTTOU}) ::signal(signal, SIG_DFL);
  }
  ::execvp(argv[0], argv);
}

// In the child.  Comes back only if PROGRAM cannot be run; errno says why.
void become_program(const Alarm& alarm, const Signals& signals, pid_t guard) noexcept {
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != guard) ::_exit(EXIT_FAILURE);
  const Fd nothing(::open("/dev/null", O_RDONLY));
  if (!nothing || ::dup2(nothing.get(), STDIN_FILENO) < 0 || !keep_descriptors(-1)) return;
  char group[16];
  std::snprintf(group, sizeof group, "%d", alarm.group);
  if (::setenv("HOLDFAST_REASON", alarm.reason, 1) != 0 || ::setenv("HOLDFAST_GROUP", group, 1) != 0) return;
  signals.restore();
  char* const argv[] = {const_cast<char*>(alarm.program), nullptr};
  ::execvp(argv[0], argv);
}

// In the child, which has failed.
[[noreturn]] void give_up(int line) noexcept {
  const int error = errno;
  (void)!::write(line, &error, sizeof error);
  ::_exit(EXIT_FAILURE);
}

}  // namespace

CommandProcess prepare_command(const Stage& stage) {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    throw std::system_error(errno, std::generic_category(), "socketpair");
  }
  Fd ours(ends[0]);
  Fd theirs(ends[1]);
  set_environment(stage.work, stage.start);
  const std::vector<char*> argv = arguments(stage.work.command);
  const pid_t guard = ::getpid();
  const pid_t pid = ::fork();
  if (pid < 0) throw std::system_error(errno, std::generic_category(), "fork");
  if (pid == 0) {
    ours.reset();
    become_command(stage, argv.data(), guard, theirs.get());
    give_up(theirs.get());
  }
  // Here as well as in the child: whoever comes first, the group exists before anyone signals it.
  ::setpgid(pid, pid);
  return {pid, std::move(ours)};
}

void let_go(const CommandProcess& command) noexcept { (void)!::write(command.line.get(), "", 1); }

CommandProcess sound_alarm(const Alarm& alarm, const Signals& signals) noexcept {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return {-1, Fd()};
  Fd ours(ends[0]);
  const Fd theirs(ends[1]);
  const pid_t guard = ::getpid();
  const pid_t pid = ::fork();
  if (pid < 0) return {-1, Fd()};
  if (pid == 0) {
    become_program(alarm, signals, guard);
    give_up(theirs.get());
  }
  ::setpgid(pid, pid);
  return {pid, std::move(ours)};
}

std::optional<int> exec_outcome(const CommandProcess& command) noexcept {
  int error = 0;
  const ssize_t got = command.line ? ::recv(command.line.get(), &error, sizeof error, MSG_DONTWAIT) : -1;
  if (got < 0) return std::nullopt;
  return error;
}

}  // namespace holdfast::cli
