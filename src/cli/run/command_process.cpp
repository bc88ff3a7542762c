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

void set_environment(const GuardedCommand& spec, const Start& start) {
  ::setenv("HOLDFAST_KEY", spec.key.c_str(), 1);
  ::setenv("HOLDFAST_TOKEN", std::to_string(to_number(start.token)).c_str(), 1);
  ::setenv("HOLDFAST_OWNER", start.owner.data(), 1);
  ::setenv("HOLDFAST_DEADLINE", std::to_string(start.wall_deadline_s).c_str(), 1);
  for (const auto& [name, value] : spec.environment) ::setenv(name.c_str(), value.c_str(), 1);
}

// All descriptors are closed on exec, except 0, 1, 2 and the proof.
bool limit_descriptors(int proof) noexcept {
  if (::close_range(3, ~0U, CLOSE_RANGE_CLOEXEC) != 0) return false;
  return proof < 0 || outlives_exec(proof);
}

// In the child.  Returns only if CMD cannot be run; see errno.
void become_command(const CommandSetup& setup, char* const* argv, pid_t guard, int socket) noexcept {
  ::setpgid(0, 0);
  if (setup.spec.ending.on_lost != OnLost::ignore) ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  char go = 0;
  // End of file: the guard died before it could report us to the main process.  If it died before
  // PR_SET_PDEATHSIG took effect, we have another parent.
  if (::read(socket, &go, 1) != 1 || ::getppid() != guard) ::_exit(EXIT_FAILURE);
  if (setup.start.foreground) setup.terminal.give_to(::getpid());
  if (setup.input >= 0 && ::dup2(setup.input, STDIN_FILENO) < 0) return;
  if (!limit_descriptors(setup.proof)) return;
  setup.signals.restore();
  // A shell's $(...) ignores them; then reading would fail instead of stopping CMD.
  if (setup.start.may_ask) {
    for (const int signal : {SIGTTIN, SIGTTOU}) ::signal(signal, SIG_DFL);
  }
  ::execvp(argv[0], argv);
}

// In the child.  Returns only if PROGRAM cannot be run; see errno.
void become_program(const OnLostProgram& program, const Signals& signals, pid_t guard) noexcept {
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != guard) ::_exit(EXIT_FAILURE);
  const Fd nothing(::open("/dev/null", O_RDONLY));
  if (!nothing || ::dup2(nothing.get(), STDIN_FILENO) < 0 || !limit_descriptors(-1)) return;
  char group[16];
  std::snprintf(group, sizeof group, "%d", program.group);
  if (::setenv("HOLDFAST_REASON", program.reason, 1) != 0 || ::setenv("HOLDFAST_GROUP", group, 1) != 0)
    return;
  signals.restore();
  char* const argv[] = {const_cast<char*>(program.program), nullptr};
  ::execvp(argv[0], argv);
}

// In the child: reports errno and exits.
[[noreturn]] void report_errno(int socket) noexcept {
  const int error = errno;
  (void)!::write(socket, &error, sizeof error);
  ::_exit(EXIT_FAILURE);
}

}  // namespace

CommandProcess prepare_command(const CommandSetup& setup) {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    throw std::system_error(errno, std::generic_category(), "socketpair");
  }
  Fd ours(ends[0]);
  Fd theirs(ends[1]);
  set_environment(setup.spec, setup.start);
  const std::vector<char*> argv = arguments(setup.spec.command);
  const pid_t guard = ::getpid();
  const pid_t pid = ::fork();
  if (pid < 0) throw std::system_error(errno, std::generic_category(), "fork");
  if (pid == 0) {
    ours.reset();
    become_command(setup, argv.data(), guard, theirs.get());
    report_errno(theirs.get());
  }
  // In the child and here, so that the group exists before anybody signals it.
  ::setpgid(pid, pid);
  return {pid, std::move(ours)};
}

void let_exec(const CommandProcess& command) noexcept { (void)!::write(command.socket.get(), "", 1); }

CommandProcess start_on_lost_program(const OnLostProgram& program, const Signals& signals) noexcept {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return {-1, Fd()};
  Fd ours(ends[0]);
  const Fd theirs(ends[1]);
  const pid_t guard = ::getpid();
  const pid_t pid = ::fork();
  if (pid < 0) return {-1, Fd()};
  if (pid == 0) {
    become_program(program, signals, guard);
    report_errno(theirs.get());
  }
  ::setpgid(pid, pid);
  return {pid, std::move(ours)};
}

std::optional<int> exec_outcome(const CommandProcess& command) noexcept {
  int error = 0;
  const ssize_t got = command.socket ? ::recv(command.socket.get(), &error, sizeof error, MSG_DONTWAIT) : -1;
  if (got < 0) return std::nullopt;
  return error;
}

}  // namespace holdfast::cli
