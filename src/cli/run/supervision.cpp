// SPDX-License-Identifier: Apache-2.0
#include "cli/run/supervision.h"

#include <sys/wait.h>

#include <algorithm>
#include <csignal>
#include <cstring>

#include "base/text.h"
#include "base/time.h"
#include "cli/output.h"
#include "cli/run/process_group.h"
#include "cli/run/schedule.h"

namespace holdfast::cli {
namespace {

Start start_message(const Lease& lease, Millis ttl) {
  const auto wall_deadline = std::chrono::floor<std::chrono::seconds>(wall_now() + lease.remaining());
  Start start{.deadline = lease.deadline(),
              .ttl = ttl,
              .token = lease.token(),
              .wall_deadline_s = wall_deadline.time_since_epoch().count(),
              .owner = {},
              .foreground = false};
  lease.owner().copy(start.owner.data(), start.owner.size() - 1);
  return start;
}

}  // namespace

Supervision::Supervision(Lease& lease, const RunConfig& config, GuardProcess guard, Signals& signals,
                         const Terminal& terminal)
    : lease_(lease),
      config_(config),
      guard_(guard.pid),
      link_(std::make_shared<MainEnd>(std::move(guard.link))),
      signals_(signals),
      terminal_(terminal),
      sources_{link_->fd(), signals_.fd()},
      in_background_(Terminal::is_in_pipeline()) {}

CommandEnd Supervision::run(int proof) {
  start(proof);
  while (!over_) {
    wakeup_->wait(next_check(BootClock::now()), sources_.fd());
    // The messages of the guard come first: if it is dead, its last ones decide what is left to do.
    receive_from_guard();
    handle_signals();
    collect_children();
    check_lease(BootClock::now());
  }
  return end_;
}

void Supervision::start(int proof) {
  Start start = start_message(lease_, config_.ttl);
  start.foreground = may_have_keyboard();
  start.may_ask = in_background_ && terminal_.is_ours();
  // Before CMD runs: it may fail, because it may need a thread.
  lease_.on_lost([wakeup = wakeup_](const Lost&) { wakeup->ring(); });
  link_->send(start, proof);
  lease_.on_renewed([link = link_](Instant deadline) { link->send(Renewed{deadline}); });
  // The lease may have been renewed after the deadline was read and before the function was set.
  link_->send(Renewed{lease_.deadline()});
}

void Supervision::receive_from_guard() {
  while (const auto message = link_->receive()) {
    std::visit([this](const auto& m) { on(m); }, *message);
  }
  if (!link_->closed()) return;
  sources_.drop(link_->fd());  // it would stay readable
  if (guard_lives_) alone_since_ = BootClock::now();
  guard_lives_ = false;
  end_.guard_died = !over_;
  if (group_.number() == 0) over_ = true;  // the guard reports CMD before CMD may exec
}

void Supervision::on(const CannotRun& failure) {
  end_.cannot_run = failure.error;
  over_ = true;
}

void Supervision::on(const Ended& ended) {
  end_.status = ended.status;
  const bool by_us = killed_ && WIFSIGNALED(ended.status) && WTERMSIG(ended.status) == SIGKILL;
  end_.forced = ended.cause == Cause::lease || by_us;
  end_.signalled = ended.signalled || by_us;
  end_.over_time = ended.cause == Cause::time;
  const int signal = WIFSIGNALED(ended.status) ? WTERMSIG(ended.status) : 0;
  const bool sent = signal == ending_signal_;  // it was sent to us, and we passed it on
  if ((signal == SIGINT || signal == SIGQUIT) && (sent ? ending_typed_ : ended.had_keyboard)) {
    end_.asked = true;
    end_.typed = signal;
    end_.typed_to_it = !sent;
  }
  over_ = true;
}

void Supervision::on(const ProgramFailed& failure) {
  complain("cannot run \"" + printable(config_.ending.program) +
           "\" of --on-lost: " + std::strerror(failure.error) + "; the command was sent TERM instead");
}

// Ctrl-Z stops the group that has the keyboard, which is CMD's.  We stop too, because the shell that started
// us waits until we stop.  A CMD that was stopped with kill, without a terminal, stops alone: its lease is
// still renewed.
void Supervision::on(const Stopped& stopped) {
  const bool wants = !stopped.had_keyboard && (stopped.by == SIGTTIN || stopped.by == SIGTTOU);
  if (!stopped.had_keyboard && !(terminal_ && (wants || stopped.by == SIGTSTP))) return;
  if (wants && terminal_.is_ours()) {
    in_background_ = false;
    return continue_command();
  }
  if (Signals::stop_own_group() || !wants)
    continue_command();
  else
    hang_up();
}

// CMD is stopped because it needs the keyboard, and no shell can bring us to the foreground any more.
// Without us its read would fail, or the kernel would send HUP.  If we did nothing, CMD would keep the key
// forever; if we only continued it, it would stop again.
void Supervision::hang_up() {
  const std::string what = "the command under " + printable(lease_.key()) +
                           " needs the terminal, but no shell can bring it to the foreground any more";
  if (hung_up_) return complain(what + "; it survived HUP and stays stopped");
  complain(what + "; it was sent HUP");
  hung_up_ = true;
  link_->send(Signal{SIGHUP});
  link_->send(Continue{.foreground = false});
}

void Supervision::handle_signals() {
  while (const auto signal = signals_.next()) {
    switch (meaning_of(*signal)) {
      case Meaning::ends:
        end_.asked = true;
        ending_signal_ = *signal;
        ending_typed_ = signals_.was_typed();
        [[fallthrough]];
      case Meaning::passes:
      case Meaning::stops: link_->send(Signal{*signal}); break;
      case Meaning::continues: continue_command(); break;
      case Meaning::child: break;
    }
  }
}

// We may have been stopped for long, so the lease is checked before CMD continues.
void Supervision::continue_command() {
  const bool renewed = lease_.try_renew().has_value();
  if (renewed || lease_.held() || config_.ending.on_lost == OnLost::ignore) {
    link_->send(Continue{may_have_keyboard()});
  } else {
    sent_loss_ = true;
    link_->send(Stop{.at_once = true, .reason = lease_.lost().reason});
  }
}

// Collects the guard and, when the guard is dead, CMD and its orphans.
void Supervision::collect_children() {
  int status = 0;
  for (pid_t pid = 0; (pid = ::waitpid(-1, &status, WNOHANG | WUNTRACED)) > 0;) {
    if (pid == guard_ && WIFSTOPPED(status))
      ::kill(guard_, SIGCONT);
    else if (pid == guard_)
      guard_collected_ = true;
    else if (pid == group_.number() && !WIFSTOPPED(status))
      end_.status = status;
  }
  if (!guard_lives_ && !over_) kill_remaining();
}

// The guard is dead, and CMD died with it.  The processes that CMD started become our children when the guard
// is dead, which may be after its link is closed: a dying process closes its files before it gives up its
// children.
void Supervision::kill_remaining() {
  group_.signal(SIGKILL);
  const bool all_are_ours = guard_collected_ || !runs(guard_);  // checked before we search for children
  const bool left = config_.childless && kill_children();
  over_ = all_are_ours && !left && group_.is_dead();
  if (over_)
    terminal_.take_back_from(group_.number());
  else if (!reported_unkillable_)
    report_unkillable(group_.unkillable_process());
}

void Supervision::report_unkillable(pid_t pid) {
  if (pid == 0 || reported_unkillable_) return;
  reported_unkillable_ = true;
  complain("process " + std::to_string(pid) +
           " of the command belongs to another user and cannot be killed; " +
           (lease_.held() ? printable(lease_.key()) + " stays held until it ends"
                          : "the lease on " + printable(lease_.key()) +
                                " is lost, so it may run at the same time as another holder"));
}

Schedule Supervision::schedule() const { return {lease_.deadline(), config_.ttl, config_.ending}; }

void Supervision::check_lease(Instant now) {
  if (over_ || !guard_lives_) return;
  if (const Loss loss = lease_.lost().reason; loss != Loss::none && !sent_loss_) {
    sent_loss_ = true;
    link_->send(Stop{.at_once = false, .reason = loss});
  }
  const Schedule due = schedule();
  if (now < due.kill_at()) return;
  if (group_) {
    end_.forced = end_.signalled = killed_ = true;
    group_.signal(SIGKILL);
  }
  if (now >= due.doubt_at()) ::kill(guard_, SIGKILL);
}

Instant Supervision::next_check(Instant now) const {
  if (!guard_lives_) return now + recheck_after(now - alone_since_);
  const Instant kill = schedule().kill_at();
  return now < kill ? kill : now + recheck_after(now - kill);
}

}  // namespace holdfast::cli
