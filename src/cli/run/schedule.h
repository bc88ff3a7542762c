// SPDX-License-Identifier: Apache-2.0
// schedule.h - when a command is told to end, and when it is made to.
//
//   normal:   ... renewed, renewed ...                 [ grace ][ margin ]
//                                                      TERM     KILL      deadline: we stop believing
//   told:     lost, or CMD ended and left others       now      + grace, and never later than that KILL
//   at most:  CMD has had its time                     then     + grace, and never later than that KILL
//   at once:  the main process is gone                          now
//
// What the lease does to CMD is a choice; what CMD's time and its end do is not:
//
//   --on-lost   | the deadline comes near          | the lease is known to be lost | main is gone
//   ------------+----------------------------------+-------------------------------+-------------
//   term, exec  | TERM (or PROGRAM), later KILL    | TERM (or PROGRAM), later KILL | KILL
//   kill        | KILL                             | KILL                          | KILL
//   ignore      |                                  |                               |
//
// What was done because the deadline came near, and then the lease is renewed after all:
//
//   TERM        | cannot be taken back: KILL comes when the grace is over
//   PROGRAM     | is called off, as if it had not been run: next time it is run again.  It has its grace
//
// The margin is for the kernel: to wake us, and to bury the dead before the belief ends.  Where every
// processor is busy, and CMD takes what its session is due, a process that is woken was seen to wait 0.9 s
// for its turn.  Pure: no clock of its own.
#pragma once
#include <algorithm>
#include <cstdint>
#include <optional>

#include "cli/words/command_line.h"
#include "holdfast/clock.h"

namespace holdfast::cli {

// Why CMD is ended.
enum class Cause : std::uint8_t { none, lease, time };

// What is done about it.
enum class Step : std::uint8_t { none, program, term, kill };

// Whoever was told or made to end `since` is looked at again after so long.  Nobody tells us that one is dead
// who is no child of ours; but each look reads all of /proc, and one that is stuck in the kernel may stay for
// days.
constexpr Millis look_again_after(Instant::duration since) noexcept {
  if (since < std::chrono::seconds(1)) return Millis(5);
  return since < std::chrono::seconds(10) ? Millis(100) : Millis(1'000);
}

class Schedule {
 public:
  Schedule() = default;
  Schedule(Instant deadline, Millis ttl) noexcept : deadline_(deadline), ttl_(ttl) {}
  Schedule(Instant deadline, Millis ttl, const Ending& ending) noexcept
      : deadline_(deadline), ttl_(ttl), on_lost_(ending.on_lost), kill_after_(ending.kill_after) {}

  // A third of the lease is for renewing in peace, one for trying again, and one for ending CMD.
  static Millis longest_grace(Millis ttl) noexcept { return ttl / 3; }

  Millis margin() const noexcept { return std::min(Millis(1'000), ttl_ / 10); }
  Millis grace() const noexcept { return kill_after_.value_or(std::min(Millis(10'000), ttl_ / 6)); }
  // For what CMD has left behind when it ended itself.
  Millis grace_for_the_rest() const noexcept {
    return kill_after_.value_or(std::min(Millis(2'000), grace()));
  }

  // Whatever is done about a loss, nothing is begun when it is so near.
  bool may_start(Instant now) const noexcept { return now < deadline_ - margin() - grace(); }

  // -- what happens

  // CMD starts at `now` and has so long.
  void started(Instant now, Millis at_most) noexcept { time_over_ = clamped_add(now, at_most); }
  // A deadline only ever moves forward.
  void renewed(Instant deadline) noexcept {
    deadline_ = std::max(deadline_, deadline);
    const bool only_near = done_ == Step::program && told_ == Instant::max();
    if (only_near && !ended_ && program_at_ < for_the_lease()) {
      done_ = Step::none;
      cause_ = Cause::none;
    }
  }
  // The lease is not ours any more.
  void lost(Instant now, Millis grace) noexcept {
    if (on_lost_ == OnLost::kill)
      at_once();
    else if (on_lost_ != OnLost::ignore)
      tell(now, grace);
  }
  // Nobody is left who could renew it.
  void main_gone() noexcept {
    if (on_lost_ != OnLost::ignore) at_once();
  }
  // TERM at `now`, KILL after `grace`.  The first telling counts.
  void tell(Instant now, Millis grace) noexcept {
    if (now >= told_) return;
    told_ = now;
    killed_by_telling_ = std::min(killed_by_telling_, clamped_add(now, grace));
  }
  void at_once() noexcept { told_ = killed_by_telling_ = Instant::min(); }
  // CMD has ended: the rest is told, whatever was said before.  Why CMD was ended does not change any more.
  void ended(Instant now) noexcept {
    ended_ = true;
    done_ = Step::none;
    told_ = std::min(told_, now);
    if (killed_by_telling_ == Instant::max()) killed_by_telling_ = clamped_add(now, grace_for_the_rest());
  }
  // What was due, or stands in for it, is done.
  void did(Step step, Instant now) noexcept {
    if (!ended_ && done_ == Step::none) cause_ = cause(now);
    // PROGRAM did not stop it; its time does.
    if (!ended_ && done_ == Step::program && step == Step::term && now >= time_over_) cause_ = Cause::time;
    if (step == Step::program) program_at_ = now;
    // No renewal takes these back.
    if (step == Step::term && !ended_)
      killed_by_telling_ = std::min(killed_by_telling_, clamped_add(now, grace()));
    if (step == Step::kill) killed_by_telling_ = std::min(killed_by_telling_, now);
    done_ = std::max(done_, step);
  }

  // -- what is to be done

  Instant term_at() const noexcept { return std::min(for_the_lease(), time_over_); }
  Instant kill_at() const noexcept {
    return std::min({killed_by_telling_, clamped_add(time_over_, grace()), kill_for_the_lease()});
  }
  // KILL to a PROGRAM that still runs, whether CMD does or not.
  Instant kill_program_at() const noexcept {
    if (killed_by_telling_ == Instant::min()) return Instant::min();
    return std::min(clamped_add(program_at_, grace()), kill_for_the_lease());
  }
  // KILL is due again and again, until somebody sees that nobody is left.
  Step due(Instant now) const noexcept {
    if (now >= kill_at()) return Step::kill;
    if (done_ >= Step::term || now < next_at()) return Step::none;
    return on_lost_ == OnLost::exec && !ended_ && cause(now) == Cause::lease && done_ == Step::none
               ? Step::program
               : Step::term;
  }
  // Nothing that we know of speaks against a CMD that goes on for a while, if only to hear that it is to end.
  bool may_move(Instant now) const noexcept { return told_ == Instant::max() && now < kill_for_the_lease(); }
  // The moment at which something more is due.
  Instant next_at() const noexcept {
    if (done_ >= Step::term) return kill_at();
    return std::min(kill_at(), done_ == Step::program ? time_over_ : term_at());
  }
  // Of what is due at `now`.
  Cause cause(Instant now) const noexcept {
    if (now < term_at()) return Cause::none;
    return for_the_lease() <= time_over_ ? Cause::lease : Cause::time;
  }

  // -- what was done

  // While CMD ran: it was told or made to end, and why.
  Cause cause() const noexcept { return cause_; }
  Step done() const noexcept { return done_; }

  // For the main process, which watches the watchman: by then it should have reported the group dead.
  Instant doubt_at() const noexcept { return deadline_ - margin() / 2; }

 private:
  Instant kill_for_the_lease() const noexcept {
    return on_lost_ == OnLost::ignore ? Instant::max() : deadline_ - margin();
  }
  Instant for_the_lease() const noexcept {
    switch (on_lost_) {
      case OnLost::term:
      case OnLost::exec: return std::min(told_, deadline_ - margin() - grace());
      case OnLost::kill: return std::min(told_, deadline_ - margin());
      case OnLost::ignore: return told_;
    }
    return told_;
  }

  Instant deadline_ = Instant::max();
  Millis ttl_{};
  OnLost on_lost_ = OnLost::term;
  std::optional<Millis> kill_after_ = {};
  Instant time_over_ = Instant::max();
  Instant told_ = Instant::max();
  Instant killed_by_telling_ = Instant::max();
  bool ended_ = false;
  Step done_ = Step::none;  // since CMD started or ended
  Cause cause_ = Cause::none;
  Instant program_at_ = Instant::max();
};

}  // namespace holdfast::cli
