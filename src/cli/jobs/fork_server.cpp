// SPDX-License-Identifier: Apache-2.0
#include "cli/jobs/fork_server.h"

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <exception>
#include <system_error>
#include <utility>

#include "base/fd.h"
#include "base/wakeup.h"
#include "cli/epoll_set.h"
#include "cli/run/guard.h"
#include "cli/run/process_group.h"

namespace holdfast::cli {
namespace {

GuardedCommand spec_of(const JobProgram& job_program) {
  return {.key = job_program.key.data(),
          .command = {job_program.program.data()},
          .environment = {{"HOLDFAST_JOB", std::to_string(job_program.job)},
                          {"HOLDFAST_NAME", job_program.name.data()},
                          {"HOLDFAST_ATTEMPT", std::to_string(job_program.attempt)}}};
}

}  // namespace

ForkServer::Pair ForkServer::make_pair() {
  auto [ours, theirs] = packet_sockets();
  return {Ours(std::move(ours)), Theirs(std::move(theirs))};
}

ForkServer::ForkServer(const Signals& signals, bool out_to_err)
    : ForkServer(make_pair(), signals, out_to_err) {}

ForkServer::ForkServer(Pair pair, const Signals& signals, bool out_to_err) : link_(std::move(pair.ours)) {
  const pid_t pid = ::fork();
  if (pid < 0) {
    throw std::system_error(errno, std::generic_category(),
                            "cannot start the helper process that starts the programs of jobs");
  }
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
  // A signal to the worker's group is for the worker, not for us.
  ::setpgid(0, 0);
  ::prctl(PR_SET_NAME, "holdfast-forks");
  // If a guard is killed, its children become ours.
  become_subreaper();
  const Terminal terminal;
  const Fd children = child_signal_fd();
  const EpollSet sources{link.fd(), children.get()};
  Wakeup wakeup;
  while (!link.closed()) {
    wakeup.wait(Instant::max(), sources.fd());
    drain_signals(children);
    while (::waitpid(-1, nullptr, WNOHANG) > 0) {
    }
    while (const auto job_program = link.receive()) {
      Fd guard_end = link.take_passed();
      if (::fork() != 0) continue;  // if fork fails, the worker sees its link closed
      { const Theirs closed_here = std::move(link); }
      be_guard(GuardEnd(std::move(guard_end)), spec_of(*job_program), signals, terminal);
    }
  }
  // The guards learn from their own links that the worker is gone.
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
