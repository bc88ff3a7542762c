// SPDX-License-Identifier: Apache-2.0
#include "cli/run/signals.h"

#include <sys/resource.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

namespace holdfast::cli {
namespace {

struct SignalMeaning {
  int signal;
  Meaning meaning;
};
constexpr SignalMeaning signal_table[] = {
    {SIGINT, Meaning::ends},     {SIGTERM, Meaning::ends},   {SIGHUP, Meaning::ends},
    {SIGQUIT, Meaning::ends},    {SIGUSR1, Meaning::passes}, {SIGUSR2, Meaning::passes},
    {SIGWINCH, Meaning::passes}, {SIGTSTP, Meaning::stops},  {SIGCONT, Meaning::continues},
};

bool is_ignored(int signal) {
  struct sigaction action {};
  return sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
}

sigset_t only(int signal) {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, signal);
  return set;
}

}  // namespace

Meaning meaning_of(int signal) noexcept {
  for (const SignalMeaning& row : signal_table) {
    if (row.signal == signal) return row.meaning;
  }
  return Meaning::child;
}

Signals::Signals() {
  sigset_t taken;
  sigemptyset(&taken);
  for (const SignalMeaning& row : signal_table) {
    // The kernel queues a blocked signal even if it is ignored: reading it would undo a nohup.
    if (!is_ignored(row.signal)) sigaddset(&taken, row.signal);
  }
  sigaddset(&taken, SIGCHLD);
  sigset_t blocked = taken;
  for (const int signal : {SIGPIPE, SIGTTOU, SIGTTIN}) sigaddset(&blocked, signal);
  pthread_sigmask(SIG_BLOCK, &blocked, &mask_before_);
  // If SIGCHLD is ignored, the kernel collects our children, and we do not get their exit codes.
  struct sigaction plain {};
  plain.sa_handler = SIG_DFL;
  sigaction(SIGCHLD, &plain, &child_before_);
  fd_.reset(signalfd(-1, &taken, SFD_NONBLOCK | SFD_CLOEXEC));
  if (!fd_) throw std::system_error(errno, std::generic_category(), "signalfd");
}

std::optional<int> Signals::next() noexcept {
  signalfd_siginfo info{};
  if (::read(fd_.get(), &info, sizeof info) != sizeof info) return std::nullopt;
  typed_ = info.ssi_code == SI_KERNEL;
  return static_cast<int>(info.ssi_signo);
}

void Signals::restore() const noexcept {
  sigaction(SIGCHLD, &child_before_, nullptr);
  pthread_sigmask(SIG_SETMASK, &mask_before_, nullptr);
}

bool Signals::stop_own_group() noexcept {
  const sigset_t stop = only(SIGTSTP);
  const sigset_t go_on = only(SIGCONT);
  ::kill(0, SIGTSTP);
  // The signal is pending until here.  All other threads block it, so this one gets it.
  pthread_sigmask(SIG_UNBLOCK, &stop, nullptr);
  pthread_sigmask(SIG_BLOCK, &stop, nullptr);
  const timespec at_once{};
  // Sending TSTP discarded older pending CONTs: this one was sent after it.
  return sigtimedwait(&go_on, nullptr, &at_once) == SIGCONT;
}

void Signals::die_of(int signal, Whom whom) noexcept {
  const rlimit none{};
  ::setrlimit(RLIMIT_CORE, &none);  // QUIT would dump our memory, which has passwords
  const sigset_t it = only(signal);
  ::kill(whom == Whom::us ? ::getpid() : 0, signal);
  pthread_sigmask(SIG_UNBLOCK, &it, nullptr);
}

void block_all_signals() noexcept {
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, nullptr);
}

Fd child_signal_fd() {
  const sigset_t child = only(SIGCHLD);
  Fd fd(signalfd(-1, &child, SFD_NONBLOCK | SFD_CLOEXEC));
  if (!fd) throw std::system_error(errno, std::generic_category(), "signalfd");
  return fd;
}

void drain_signals(const Fd& fd) noexcept {
  signalfd_siginfo info{};
  while (::read(fd.get(), &info, sizeof info) == sizeof info) {
  }
}

}  // namespace holdfast::cli
