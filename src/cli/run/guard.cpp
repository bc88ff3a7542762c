// SPDX-License-Identifier: Apache-2.0
#include "cli/run/guard.h"

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <exception>
#include <system_error>

#include "base/fd.h"
#include "base/wakeup.h"
#include "cli/epoll_set.h"
#include "cli/run/process_group.h"
#include "cli/run/schedule.h"

namespace holdfast::cli {
namespace {

class Guard {
 public:
  Guard(GuardEnd link, const GuardedCommand& spec, const Signals& signals, const Terminal& terminal)
      : link_(std::move(link)), spec_(spec), signals_(signals), terminal_(terminal) {}

  void run() {
    while (state_ != State::gone) {
      wakeup_.wait(next_check(BootClock::now()), sources_.fd());
      receive_from_main();
      collect_children();
      check_program();
      finish_when_dead(BootClock::now());
      enforce(BootClock::now());
    }
  }

 private:
  enum class State { idle, running, ending, gone };

  Instant next_check(Instant now) const;
  void receive_from_main();
  void on(const Input&);
  void on(const Start& start);
  void on(const Renewed& renewed) { schedule_.renewed(renewed.deadline); }
  void on(const Signal& signal);
  void on(const Continue& go);
  void on(const Stop& stop);
  void collect_children();
  void check_program();
  void command_stopped(int by);
  void command_ended(int status);
  void finish_when_dead(Instant now);
  void enforce(Instant now);
  void run_program(Instant now);
  void do_without_program(int error);
  void term(Instant now);
  void kill_all(Instant now);
  void report_unkillable();

  bool lives() const { return state_ == State::running || state_ == State::ending; }

  GuardEnd link_;
  const GuardedCommand& spec_;
  const Signals& signals_;
  const Terminal& terminal_;
  Wakeup wakeup_;
  Fd children_ = child_signal_fd();
  EpollSet sources_{link_.fd(), children_.get()};

  State state_ = State::idle;
  Schedule schedule_;
  CommandProcess command_{};
  Group group_;
  Fd input_;
  bool input_lost_ = false;
  Fd proof_;                  // we keep a copy: the key is not free while we have a group to end
  CommandProcess program_{};  // of --on-lost; pid 0: it does not run
  Loss reason_ = Loss::unreachable;
  bool signalled_ = false;     // CMD was sent TERM or KILL
  bool had_keyboard_ = false;  // CMD had it when it ended
  bool killed_ = false;
  bool program_killed_ = false;
  Instant ending_since_ = Instant::max();  // when the newest process that must end was signalled
  bool all_ = false;                       // kill also the processes that left the group
  bool reported_gone_ = false;             // GroupGone was sent
  bool reported_unkillable_ = false;       // CannotEnd was sent
  int exec_error_ = 0;
  int status_ = 0;
};

Instant Guard::next_check(Instant now) const {
  if (!lives()) return Instant::max();
  const bool spared = program_.pid != 0 && !program_killed_;
  const Instant program = spared ? schedule_.kill_program_at() : Instant::max();
  const Instant next = std::min(killed_ ? Instant::max() : schedule_.next_at(), program);
  const bool awaited = state_ == State::ending || killed_ || (program_.pid != 0 && program_killed_);
  return awaited ? std::min(next, now + recheck_after(now - ending_since_)) : next;
}

void Guard::receive_from_main() {
  while (const auto message = link_.receive()) {
    std::visit([this](const auto& m) { on(m); }, *message);
  }
  if (!link_.closed()) return;
  sources_.drop(link_.fd());  // it stays readable forever
  schedule_.main_gone();
  if (lives()) terminal_.take_back_from(command_.pid);  // first: a process that waited for main already runs
  if (state_ == State::idle) state_ = State::gone;
}

void Guard::on(const Input&) {
  input_ = link_.take_passed();
  input_lost_ = !input_;  // it was sent, but we have no free descriptor: CMD must not read something else
}

void Guard::on(const Start& start) {
  proof_ = link_.take_passed();
  schedule_ = Schedule(start.deadline, start.ttl, spec_.ending);
  if (!schedule_.may_start(BootClock::now())) {
    link_.send_patiently(Ended{.status = 0, .cause = Cause::lease});
    state_ = State::gone;
    return;
  }
  try {
    if (input_lost_) throw std::system_error(EMFILE, std::generic_category(), "input");
    command_ = prepare_command({spec_, signals_, terminal_, start, proof_.get(), input_.get()});
    input_.reset();
    sources_.add(command_.socket.get());
  } catch (const std::system_error& e) {
    link_.send_patiently(CannotRun{e.code().value()});
    state_ = State::gone;
    return;
  }
  group_ = Group(command_.pid);
  // In this order: before CMD runs, main knows its group and can end it without us.
  link_.send_patiently(Started{command_.pid});
  let_exec(command_);
  schedule_.started(BootClock::now(), spec_.ending.at_most);
  state_ = State::running;
}

void Guard::on(const Signal& signal) {
  if (!lives()) return;
  group_.signal(signal.number);
  // A stopped process handles the signal only when it is continued.
  if (meaning_of(signal.number) == Meaning::ends && schedule_.may_move(BootClock::now()))
    group_.signal(SIGCONT);
}

void Guard::on(const Continue& go) {
  if (!lives()) return;
  if (go.foreground) terminal_.give_to(command_.pid);
  group_.signal(SIGCONT);
}

void Guard::on(const Stop& stop) {
  if (stop.reason != Loss::none) reason_ = stop.reason;
  if (stop.at_once)
    schedule_.kill_now();
  else
    schedule_.lost(BootClock::now(), stop.grace.value_or(schedule_.grace()));
}

void Guard::collect_children() {
  drain_signals(children_);
  int status = 0;
  // Orphans of CMD are our children too; they are only collected.
  for (pid_t pid = 0; (pid = ::waitpid(-1, &status, WNOHANG | WUNTRACED)) > 0;) {
    if (pid == program_.pid && !WIFSTOPPED(status)) program_.pid = 0;
    if (pid != command_.pid) continue;
    if (WIFSTOPPED(status))
      command_stopped(WSTOPSIG(status));
    else
      command_ended(status);
  }
  if (const auto error = exec_outcome(command_)) {
    exec_error_ = *error;
    command_.socket.reset();
  }
}

void Guard::command_stopped(int by) {
  const bool had_keyboard = terminal_.belongs_to(command_.pid);
  terminal_.take_back_from(command_.pid);
  link_.send(Stopped{by, had_keyboard});
}

void Guard::command_ended(int status) {
  status_ = status;
  had_keyboard_ = terminal_.belongs_to(command_.pid);
  state_ = State::ending;
  ending_since_ = BootClock::now();
  // A CMD that was killed did not leave a daemon on purpose.
  all_ = schedule_.done() != Step::none || (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
  schedule_.ended(BootClock::now());
  (void)group_.is_empty();  // at once: its number may be reused from now on
}

void Guard::finish_when_dead(Instant now) {
  if (state_ != State::ending) return;
  const bool gone = group_.is_empty();
  const bool rest = !gone && !(killed_ && group_.is_dead());
  const bool others = program_.pid != 0 && now < schedule_.kill_program_at();
  if (rest || others || (all_ && kill_children()) || program_.pid != 0) {
    if (gone && !reported_gone_) reported_gone_ = link_.send(GroupGone{});
    return;
  }
  terminal_.take_back_from(command_.pid);
  if (exec_error_ != 0)
    link_.send_patiently(CannotRun{exec_error_});
  else
    link_.send_patiently(Ended{status_, schedule_.cause(), signalled_, had_keyboard_});
  state_ = State::gone;
}

void Guard::enforce(Instant now) {
  if (!lives()) return;
  switch (schedule_.due(now)) {
    case Step::none: break;
    case Step::program: run_program(now); break;
    case Step::term: term(now); break;
    case Step::kill: kill_all(now); break;
  }
  if (program_.pid == 0 || now < schedule_.kill_program_at()) return;
  if (!program_killed_) ending_since_ = now;
  program_killed_ = true;
  Group(program_.pid).signal(SIGKILL);
}

void Guard::term(Instant now) {
  schedule_.did(Step::term, now);
  signalled_ |= state_ == State::running;
  group_.signal(SIGTERM);
  // A stopped CMD must handle TERM too; but a CMD that has lost its lease must not continue.
  if (schedule_.cause() == Cause::time && schedule_.may_move(now)) group_.signal(SIGCONT);
}

void Guard::kill_all(Instant now) {
  schedule_.did(Step::kill, now);
  if (!killed_) ending_since_ = now;
  signalled_ |= state_ == State::running;
  all_ |= state_ == State::running;
  group_.signal(SIGKILL);
  // PROGRAM keeps its own grace if CMD has ended.
  const bool spare = state_ == State::ending && program_.pid != 0 && now < schedule_.kill_program_at();
  if (all_ && !spare) kill_children();
  if (killed_ && !reported_unkillable_) report_unkillable();
  killed_ = true;
}

// Reports a process that is still there when KILL is sent for the second time.
void Guard::report_unkillable() {
  const pid_t pid = group_.unkillable_process();
  if (pid != 0) reported_unkillable_ = link_.send(CannotEnd{pid});
}

void Guard::run_program(Instant now) {
  schedule_.did(Step::program, now);
  if (program_.pid != 0) return;  // the previous one still runs
  program_killed_ = false;
  program_ =
      start_on_lost_program({spec_.ending.program.c_str(), to_string(reason_), command_.pid}, signals_);
  if (program_.pid < 0) return do_without_program(errno);
  try {
    sources_.add(program_.socket.get());
  } catch (const std::system_error& e) {  // we would not learn that it cannot be run
    do_without_program(e.code().value());
  }
}

// PROGRAM cannot be run: CMD gets TERM instead, unless the lease was renewed meanwhile.
void Guard::do_without_program(int error) {
  if (program_.pid < 0) program_.pid = 0;
  program_.socket.reset();
  if (state_ == State::running && schedule_.done() == Step::program) term(BootClock::now());
  link_.send(ProgramFailed{error});
}

void Guard::check_program() {
  const auto error = exec_outcome(program_);
  if (!error) return;
  program_.socket.reset();
  if (*error != 0) do_without_program(*error);
}

}  // namespace

void be_guard(GuardEnd link, const GuardedCommand& spec, const Signals& signals, const Terminal& terminal) {
  block_all_signals();
  // A signal to main's group must not stop or kill us.  If we are stopped when main dies, our group becomes
  // orphaned, and the kernel continues orphaned groups.
  ::setpgid(0, 0);
  ::prctl(PR_SET_NAME, "holdfast-guard");
  become_subreaper();
  try {
    Guard(std::move(link), spec, signals, terminal).run();
  } catch (const std::exception&) {  // out of memory or descriptors: main sees us die, and CMD dies with us
    ::_exit(EXIT_FAILURE);
  }
  ::_exit(EXIT_SUCCESS);
}

GuardProcess fork_guard(const GuardedCommand& spec, const Signals& signals, const Terminal& terminal) {
  LinkPair link = make_link();
  const pid_t pid = ::fork();
  if (pid < 0) throw std::system_error(errno, std::generic_category(), "cannot start the guard process");
  if (pid == 0) {
    { const MainEnd closed_here = std::move(link.main); }
    be_guard(std::move(link.guard), spec, signals, terminal);
  }
  return {pid, std::move(link.main)};
}

}  // namespace holdfast::cli
