// SPDX-License-Identifier: Apache-2.0
#include "cli/guard.h"

#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <exception>
#include <system_error>

#include "base/wakeup.h"
#include "cli/any_of.h"
#include "cli/process_group.h"
#include "cli/schedule.h"

namespace holdfast::cli {
namespace {

using namespace std::chrono_literals;

// How often we look whether a group that was told to end is dead: the last of it may be no child of ours,
// and then nobody tells us.
constexpr Millis look_again = 5ms;

Fd child_signals() {
  sigset_t child;
  sigemptyset(&child);
  sigaddset(&child, SIGCHLD);
  Fd fd(signalfd(-1, &child, SFD_NONBLOCK | SFD_CLOEXEC));
  if (!fd) throw std::system_error(errno, std::generic_category(), "signalfd");
  return fd;
}

class Guard {
 public:
  Guard(GuardEnd link, const Work& work, const Signals& signals, const Terminal& terminal)
      : link_(std::move(link)), work_(work), signals_(signals), terminal_(terminal) {}

  void watch() {
    while (state_ != State::gone) {
      wakeup_.wait(next_look(BootClock::now()), sources_.fd());
      hear_main();
      hear_command();
      bury();
      enforce(BootClock::now());
    }
  }

 private:
  enum class State { idle, running, ending, gone };

  Instant next_look(Instant now) const;
  void hear_main();
  void on(const Input&);
  void on(const Start& start);
  void on(const Renewed& renewed) { schedule_.renewed(renewed.deadline); }
  void on(const Signal& signal);
  void on(const Continue& go);
  void on(const Stop& stop);
  void hear_command();
  void command_stopped(int by);
  void command_ended(int status);
  void bury();
  void enforce(Instant now);

  bool lives() const { return state_ == State::running || state_ == State::ending; }

  GuardEnd link_;
  const Work& work_;
  const Signals& signals_;
  const Terminal& terminal_;
  Wakeup wakeup_;
  Fd children_ = child_signals();
  AnyOf sources_{link_.fd(), children_.get()};

  State state_ = State::idle;
  Schedule schedule_;
  CommandProcess command_{};
  Fd input_;
  bool input_lost_ = false;
  Fd proof_;  // ours too: while we have a group to end, the key is not free
  bool termed_ = false;
  bool killed_ = false;
  bool forced_ = false;
  int exec_error_ = 0;
  int status_ = 0;
};

Instant Guard::next_look(Instant now) const {
  if (!lives()) return Instant::max();
  const Instant kill = schedule_.kill_at();
  if (state_ == State::ending || now >= kill) return now + look_again;
  return termed_ ? kill : schedule_.term_at();
}

void Guard::hear_main() {
  while (const auto message = link_.receive()) {
    std::visit([this](const auto& m) { on(m); }, *message);
  }
  if (!link_.closed()) return;
  sources_.drop(link_.fd());  // it stays readable for ever
  schedule_.at_once();
  if (lives()) terminal_.take_back_from(command_.pid);  // first: whoever waited for main goes on already
  if (state_ == State::idle) state_ = State::gone;
}

void Guard::on(const Input&) {
  input_ = link_.take_passed();
  input_lost_ = !input_;  // it did travel, but we may have no more: CMD must not read something else
}

void Guard::on(const Start& start) {
  proof_ = link_.take_passed();
  schedule_ = Schedule(start.deadline, start.ttl);
  if (BootClock::now() >= schedule_.term_at()) {
    link_.send_patiently(Ended{.status = 0, .forced = true});
    state_ = State::gone;
    return;
  }
  try {
    if (input_lost_) throw std::system_error(EMFILE, std::generic_category(), "input");
    command_ = prepare_command({work_, signals_, terminal_, start, proof_.get(), input_.get()});
    input_.reset();
    sources_.add(command_.line.get());
  } catch (const std::system_error& e) {
    link_.send_patiently(CannotRun{e.code().value()});
    state_ = State::gone;
    return;
  }
  // In this order: from the moment CMD can do anything, main knows its group and can end it without us.
  link_.send_patiently(Started{command_.pid});
  let_go(command_);
  state_ = State::running;
}

void Guard::on(const Signal& signal) {
  if (lives()) signal_group(command_.pid, signal.number);
}

void Guard::on(const Continue& go) {
  if (!lives()) return;
  if (go.foreground) terminal_.give_to(command_.pid);
  signal_group(command_.pid, SIGCONT);
}

void Guard::on(const Stop& stop) {
  if (stop.at_once)
    schedule_.at_once();
  else
    schedule_.tell(BootClock::now(), stop.grace.value_or(schedule_.grace()));
}

void Guard::hear_command() {
  signalfd_siginfo info{};
  while (::read(children_.get(), &info, sizeof info) == sizeof info) {
  }
  int status = 0;
  // Orphans of CMD come to us too: collected and forgotten.
  for (pid_t pid = 0; (pid = ::waitpid(-1, &status, WNOHANG | WUNTRACED)) > 0;) {
    if (pid != command_.pid) continue;
    if (WIFSTOPPED(status))
      command_stopped(WSTOPSIG(status));
    else
      command_ended(status);
  }
  if (const auto error = exec_outcome(command_)) {
    exec_error_ = *error;
    command_.line.reset();
  }
}

void Guard::command_stopped(int by) {
  const bool had_keyboard = terminal_.belongs_to(command_.pid);
  terminal_.take_back_from(command_.pid);
  link_.send(Stopped{by, had_keyboard});
}

void Guard::command_ended(int status) {
  status_ = status;
  state_ = State::ending;
  forced_ = termed_;
  schedule_.tell(BootClock::now(), schedule_.grace_for_the_rest());
  termed_ = false;  // the rest is told, whatever was said before
}

void Guard::bury() {
  if (state_ != State::ending) return;
  if (!group_is_empty(command_.pid) && !(killed_ && group_is_dead(command_.pid))) return;
  terminal_.take_back_from(command_.pid);
  if (exec_error_ != 0)
    link_.send_patiently(CannotRun{exec_error_});
  else
    link_.send_patiently(Ended{status_, forced_});
  state_ = State::gone;
}

void Guard::enforce(Instant now) {
  if (!lives()) return;
  if (now >= schedule_.kill_at()) {
    signal_group(command_.pid, SIGKILL);
    termed_ = killed_ = true;
  } else if (!termed_ && now >= schedule_.term_at()) {
    signal_group(command_.pid, SIGTERM);
    termed_ = true;
  }
}

}  // namespace

void be_guard(GuardEnd link, const Work& work, const Signals& signals, const Terminal& terminal) {
  block_all_signals();
  // Whoever stops or kills main's group shall not get us too.  And if we are stopped when main dies, our
  // group becomes an orphaned one then, and the kernel continues those.
  ::setpgid(0, 0);
  ::prctl(PR_SET_NAME, "holdfast-guard");
  become_subreaper();
  try {
    Guard(std::move(link), work, signals, terminal).watch();
  } catch (const std::exception&) {  // out of memory or descriptors: main sees us die, and CMD dies with us
    ::_exit(EXIT_FAILURE);
  }
  ::_exit(EXIT_SUCCESS);
}

GuardProcess fork_guard(const Work& work, const Signals& signals, const Terminal& terminal) {
  LinkPair link = make_link();
  const pid_t pid = ::fork();
  if (pid < 0) throw std::system_error(errno, std::generic_category(), "cannot start the guard process");
  if (pid == 0) {
    { const MainEnd closed_here = std::move(link.main); }
    be_guard(std::move(link.guard), work, signals, terminal);
  }
  return {pid, std::move(link.main)};
}

}  // namespace holdfast::cli
