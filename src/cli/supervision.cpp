// SPDX-License-Identifier: Apache-2.0
#include "cli/supervision.h"

#include <sys/wait.h>

#include <algorithm>
#include <csignal>

#include "base/wall_clock.h"
#include "cli/process_group.h"
#include "cli/schedule.h"

namespace holdfast::cli {
namespace {

using namespace std::chrono_literals;

// How often we look whether a group that was killed is dead.
constexpr Millis look_again = 5ms;

Start start_message(const Lease& lease, Millis ttl, bool foreground) {
  const Micros wall_deadline = wall_now() + lease.remaining();
  Start start{.deadline = lease.deadline(),
              .ttl = ttl,
              .token = lease.token(),
              .wall_deadline_s = std::chrono::floor<std::chrono::seconds>(wall_deadline).count(),
              .owner = {},
              .foreground = foreground};
  lease.owner().copy(start.owner.data(), start.owner.size() - 1);
  return start;
}

}  // namespace

Supervision::Supervision(Lease& lease, Millis ttl, GuardProcess guard, Signals& signals,
                         const Terminal& terminal)
    : lease_(lease),
      ttl_(ttl),
      guard_(guard.pid),
      link_(std::make_shared<MainEnd>(std::move(guard.link))),
      signals_(signals),
      terminal_(terminal),
      sources_{link_->fd(), signals_.fd()} {}

CommandEnd Supervision::see_through(int proof) {
  start(proof);
  while (!over_) {
    wakeup_->wait(next_look(BootClock::now()), sources_.fd());
    // What the guard had to say comes first: when it is dead, its last words decide what there is to do.
    hear_guard();
    hear_signals();
    look_after_children();
    look_at_lease(BootClock::now());
  }
  return end_;
}

void Supervision::start(int proof) {
  link_->send(start_message(lease_, ttl_, terminal_.is_ours()), proof);
  lease_.on_lost([wakeup = wakeup_](const Lost&) { wakeup->ring(); });
  lease_.on_renewed([link = link_](Instant deadline) { link->send(Renewed{deadline}); });
  // For a renewal between reading the deadline and setting the function.
  link_->send(Renewed{lease_.deadline()});
}

void Supervision::hear_guard() {
  while (const auto message = link_->receive()) {
    std::visit([this](const auto& m) { on(m); }, *message);
  }
  if (!link_->closed()) return;
  sources_.drop(link_->fd());  // it stays readable for ever
  guard_lives_ = false;
  if (group_ == 0) over_ = true;  // what it has not told us about, it has not let go
}

void Supervision::on(const CannotRun& failure) {
  end_.cannot_run = failure.error;
  over_ = true;
}

void Supervision::on(const Ended& ended) {
  end_.status = ended.status;
  end_.forced |= ended.forced;
  over_ = true;
}

// Ctrl-Z reaches the group that has the keyboard, and that is CMD's: the shell that started us must see us
// stop, or it would wait for ever.  One that was stopped by hand, far from a terminal, stops alone: its lease
// is still renewed.
void Supervision::on(const Stopped& stopped) {
  const bool by_terminal = stopped.by == SIGTSTP || stopped.by == SIGTTIN || stopped.by == SIGTTOU;
  if (!stopped.had_keyboard && !(terminal_ && by_terminal)) return;
  Signals::stop_own_group();
  go_on();
}

void Supervision::hear_signals() {
  while (const auto signal = signals_.next()) {
    switch (meaning_of(*signal)) {
      case Meaning::ends:
      case Meaning::passes:
      case Meaning::stops: link_->send(Signal{*signal}); break;
      case Meaning::continues: go_on(); break;
      case Meaning::child: break;
    }
  }
}

// Nobody knows how long we were stopped: the lease is looked at before CMD moves.
void Supervision::go_on() {
  const bool renewed = lease_.try_renew().has_value();
  if (renewed || lease_.held()) {
    link_->send(Continue{terminal_.is_ours()});
  } else {
    told_loss_ = true;
    link_->send(Stop{.at_once = true});
  }
}

// The guard; and, when that is dead, CMD and its orphans.
void Supervision::look_after_children() {
  int status = 0;
  for (pid_t pid = 0; (pid = ::waitpid(-1, &status, WNOHANG | WUNTRACED)) > 0;) {
    if (pid == guard_ && WIFSTOPPED(status))
      ::kill(guard_, SIGCONT);
    else if (pid == group_ && !WIFSTOPPED(status))
      end_.status = status;
  }
  if (guard_lives_ || over_) return;
  signal_group(group_, SIGKILL);
  over_ = group_is_dead(group_);
  if (over_) terminal_.take_back_from(group_);
}

void Supervision::look_at_lease(Instant now) {
  if (over_ || !guard_lives_) return;
  if (lease_.lost().reason != Loss::none && !told_loss_) {
    told_loss_ = true;
    link_->send(Stop{.at_once = false});
  }
  const Schedule schedule(lease_.deadline(), ttl_);
  if (now < schedule.kill_at()) return;
  end_.forced = true;
  if (group_ != 0) signal_group(group_, SIGKILL);
  if (now >= schedule.doubt_at()) ::kill(guard_, SIGKILL);
}

Instant Supervision::next_look(Instant now) const {
  if (!guard_lives_) return now + look_again;
  const Instant kill = Schedule(lease_.deadline(), ttl_).kill_at();
  return now < kill ? kill : now + look_again;
}

}  // namespace holdfast::cli
