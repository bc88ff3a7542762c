// SPDX-License-Identifier: Apache-2.0
// schedule.h - when CMD gets TERM, and when it gets KILL.
//
//   normal:   ... renewed, renewed ...                 [ grace ][ margin ]
//                                                      TERM     KILL      deadline of the lease
//   request:  lost, or CMD ended and left others       now      + grace, and never later than that KILL
//   at most:  CMD has used its time                    then     + grace, and never later than that KILL
//   kill now: the main process is gone                          now
//
// --on-lost chooses what a loss of the lease does to CMD:
//
//   --on-lost   | the deadline comes near          | the lease is known to be lost | main is gone
//   ------------+----------------------------------+-------------------------------+-------------
//   term, exec  | TERM (or PROGRAM), later KILL    | TERM (or PROGRAM), later KILL | KILL
//   kill        | KILL                             | KILL                          | KILL
//   ignore      |                                  |                               |
//
// If the lease is renewed after the deadline came near:
//
//   TERM        | cannot be taken back: KILL follows after the grace
//   PROGRAM     | counts as not run: next time it runs again.  A PROGRAM that still runs keeps its grace
//
// The margin gives the kernel time to wake us and to end all processes before the deadline.  On a machine
// where every processor is busy with CMD, a woken process was seen to wait 0.9 s until it ran.  Pure: it
// reads no clock.
#pragma once
#include <algorithm>
#include <cstdint>
#include <optional>

#include "cli/run/run.h"
#include "holdfast/clock.h"

namespace holdfast::cli {

// Why CMD is ended.
enum class Cause : std::uint8_t { none, lease, time };

// What is done to end it.
enum class Step : std::uint8_t { none, program, term, kill };

// How long to wait before checking again whether processes that were signalled `since` ago are dead.  The
// kernel does not notify us of processes that are not our children.  But each check reads all of /proc, and a
// process that hangs in the kernel may stay for days.
constexpr Millis recheck_after(Instant::duration since) noexcept {
  if (since < std::chrono::seconds(1)) return Millis(5);
  return since < std::chrono::seconds(10) ? Millis(100) : Millis(1'000);
}

class Schedule {
 public:
  Schedule() = default;
  Schedule(Instant deadline, Millis ttl) noexcept : deadline_(deadline), ttl_(ttl) {}
  Schedule(Instant deadline, Millis ttl, const Ending& ending) noexcept
      : deadline_(deadline), ttl_(ttl), on_lost_(ending.on_lost), kill_after_(ending.kill_after) {}

  // A third of the ttl passes before the first renewal, a third is for retries, and a third for ending CMD.
  static Millis longest_grace(Millis ttl) noexcept { return ttl / 3; }

  Millis margin() const noexcept { return std::min(Millis(1'000), ttl_ / 10); }
  Millis grace() const noexcept { return kill_after_.value_or(std::min(Millis(10'000), ttl_ / 6)); }
  // For processes that CMD left running when it ended by itself.
  Millis grace_for_the_rest() const noexcept {
    return kill_after_.value_or(std::min(Millis(2'000), grace()));
  }

  // CMD is not started so near to the deadline, whatever --on-lost says.
  bool may_start(Instant now) const noexcept { return now < deadline_ - margin() - grace(); }

  // -- events

  // CMD starts at `now` and may take `at_most`.
  void started(Instant now, Millis at_most) noexcept { time_over_ = clamped_add(now, at_most); }
  // A deadline only ever moves forward.
  void renewed(Instant deadline) noexcept {
    deadline_ = std::max(deadline_, deadline);
    const bool only_near = done_ == Step::program && requested_at_ == Instant::max();
    if (only_near && !ended_ && program_at_ < for_the_lease()) {
      done_ = Step::none;
      cause_ = Cause::none;
    }
  }
  // The lease is not ours any more.
  void lost(Instant now, Millis grace) noexcept {
    if (on_lost_ == OnLost::kill)
      kill_now();
    else if (on_lost_ != OnLost::ignore)
      request_end(now, grace);
  }
  // No process is left that could renew the lease.
  void main_gone() noexcept {
    if (on_lost_ != OnLost::ignore) kill_now();
  }
  // TERM at `now`, KILL after `grace`.  Later requests change nothing.
  void request_end(Instant now, Millis grace) noexcept {
    if (now >= requested_at_) return;
    requested_at_ = now;
    requested_kill_at_ = std::min(requested_kill_at_, clamped_add(now, grace));
  }
  void kill_now() noexcept { requested_at_ = requested_kill_at_ = Instant::min(); }
  // CMD has ended: what is left of its group gets TERM, even if it got TERM before.  cause() stays as it is.
  void ended(Instant now) noexcept {
    ended_ = true;
    done_ = Step::none;
    requested_at_ = std::min(requested_at_, now);
    if (requested_kill_at_ == Instant::max()) requested_kill_at_ = clamped_add(now, grace_for_the_rest());
  }
  // The step that was due, or one instead of it, was taken.
  void did(Step step, Instant now) noexcept {
    if (!ended_ && done_ == Step::none) cause_ = cause(now);
    // PROGRAM did not end CMD, and now its time is over.
    if (!ended_ && done_ == Step::program && step == Step::term && now >= time_over_) cause_ = Cause::time;
    if (step == Step::program) program_at_ = now;
    // A renewal does not undo TERM and KILL.
    if (step == Step::term && !ended_)
      requested_kill_at_ = std::min(requested_kill_at_, clamped_add(now, grace()));
    if (step == Step::kill) requested_kill_at_ = std::min(requested_kill_at_, now);
    done_ = std::max(done_, step);
  }

  // -- what is due

  Instant term_at() const noexcept { return std::min(for_the_lease(), time_over_); }
  Instant kill_at() const noexcept {
    return std::min({requested_kill_at_, clamped_add(time_over_, grace()), kill_for_the_lease()});
  }
  // KILL to a PROGRAM that still runs, whether CMD does or not.
  Instant kill_program_at() const noexcept {
    if (requested_kill_at_ == Instant::min()) return Instant::min();
    return std::min(clamped_add(program_at_, grace()), kill_for_the_lease());
  }
  // KILL stays due until the caller sees that no process is left.
  Step due(Instant now) const noexcept {
    if (now >= kill_at()) return Step::kill;
    if (done_ >= Step::term || now < next_at()) return Step::none;
    return on_lost_ == OnLost::exec && !ended_ && cause(now) == Cause::lease && done_ == Step::none
               ? Step::program
               : Step::term;
  }
  // A stopped CMD may be continued, so that it can handle a signal: the lease is not known to be lost.
  bool may_move(Instant now) const noexcept {
    return requested_at_ == Instant::max() && now < kill_for_the_lease();
  }
  // When the next step is due.
  Instant next_at() const noexcept {
    if (done_ >= Step::term) return kill_at();
    return std::min(kill_at(), done_ == Step::program ? time_over_ : term_at());
  }
  // The cause of the step that is due at `now`.
  Cause cause(Instant now) const noexcept {
    if (now < term_at()) return Cause::none;
    return for_the_lease() <= time_over_ ? Cause::lease : Cause::time;
  }

  // -- what was done

  // Why CMD was ended while it ran.
  Cause cause() const noexcept { return cause_; }
  Step done() const noexcept { return done_; }

  // For the main process, which supervises the guard: by then the guard should have reported that CMD has
  // ended.
  Instant doubt_at() const noexcept { return deadline_ - margin() / 2; }

 private:
  Instant kill_for_the_lease() const noexcept {
    return on_lost_ == OnLost::ignore ? Instant::max() : deadline_ - margin();
  }
  Instant for_the_lease() const noexcept {
    switch (on_lost_) {
      case OnLost::term:
      case OnLost::exec: return std::min(requested_at_, deadline_ - margin() - grace());
      case OnLost::kill: return std::min(requested_at_, deadline_ - margin());
      case OnLost::ignore: return requested_at_;
    }
    return requested_at_;
  }

  Instant deadline_ = Instant::max();
  Millis ttl_{};
  OnLost on_lost_ = OnLost::term;
  std::optional<Millis> kill_after_ = {};
  Instant time_over_ = Instant::max();
  Instant requested_at_ = Instant::max();
  Instant requested_kill_at_ = Instant::max();
  bool ended_ = false;
  Step done_ = Step::none;  // since CMD started or ended
  Cause cause_ = Cause::none;
  Instant program_at_ = Instant::max();
};

}  // namespace holdfast::cli
