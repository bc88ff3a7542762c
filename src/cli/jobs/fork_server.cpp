// SPDX-License-Identifier: Apache-2.0
#include "cli/jobs/fork_server.h"

#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <exception>
#include <system_error>

#include "base/fd.h"
#include "cli/run/any_of.h"
#include "cli/run/guard.h"
#include "cli/run/process_group.h"

namespace holdfast::cli {
namespace {

[[noreturn]] void fail_with(const char* what) {
  throw std::system_error(errno, std::generic_category(), what);
}

Work work_of(const JobProgram& job_program) {
  return {.key = job_program.key.data(),
          .command = {job_program.program.data()},
          .environment = {{"HOLDFAST_JOB", std::to_string(job_program.job)},
                          {"HOLDFAST_NAME", job_program.name.data()},
                          {"HOLDFAST_ATTEMPT", std::to_string(job_program.attempt)}}};
}

}  // namespace

ForkServer::Pair ForkServer::make_pair() {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) fail_with("socketpair");
  return {Ours(Fd(ends[0])), Theirs(Fd(ends[1]))};
}

ForkServer::ForkServer(const Signals& signals, bool out_to_err)
    : ForkServer(make_pair(), signals, out_to_err) {}

ForkServer::ForkServer(Pair pair, const Signals& signals, bool out_to_err) : link_(std::move(pair.ours)) {
  const pid_t pid = ::fork();
  if (pid < 0) fail_with("cannot start the helper process that starts the programs of jobs");
  if (pid != 0) return;
  { const Ours closed_here = std::move(link_); }
  if (out_to_err) ::dup2(STDERR_FILENO, STDOUT_FILENO);
  try {
    be_fork_server(std::move(pair.theirs), signals);
  } catch (const std::exception&) {  // out of descriptors: the worker sees us die
    ::_exit(EXIT_FAILURE);
  }
}

void ForkServer::be_fork_server(Theirs link, const Signals& signals) {
  block_all_signals();
  // Whoever signals the worker's group means the worker.
  ::setpgid(0, 0);
  ::prctl(PR_SET_NAME, "holdfast-forks");
  // What a guard leaves behind when it is killed comes to us.
  become_subreaper();
  const Terminal terminal;
  sigset_t child;
  sigemptyset(&child);
  sigaddset(&child, SIGCHLD);
  const Fd children(signalfd(-1, &child, SFD_NONBLOCK | SFD_CLOEXEC));
  if (!children) fail_with("signalfd");
  const AnyOf sources{link.fd(), children.get()};
  Wakeup wakeup;
  while (!link.closed()) {
    wakeup.wait(Instant::max(), sources.fd());
    signalfd_siginfo info{};
    while (::read(children.get(), &info, sizeof info) == sizeof info) {
    }
    while (::waitpid(-1, nullptr, WNOHANG) > 0) {
    }
    while (const auto job_program = link.receive()) {
      Fd guard_end = link.take_passed();
      if (::fork() != 0) continue;  // none to be had: the link is closed with guard_end, and so they know
      { const Theirs closed_here = std::move(link); }
      be_guard(GuardEnd(std::move(guard_end)), work_of(*job_program), signals, terminal);
    }
  }
  // The guards have links of their own to know that the worker is gone.
  ::_exit(EXIT_SUCCESS);
}

MainEnd ForkServer::send(const JobProgram& job_program) {
  LinkPair pair = make_link();
  const std::lock_guard lock(mutex_);
  link_.send_patiently(job_program, pair.guard.fd());
  return std::move(pair.main);
}

bool ForkServer::is_dead() noexcept {
  (void)link_.receive();
  return link_.closed();
}

}  // namespace holdfast::cli
