// SPDX-License-Identifier: Apache-2.0
#include "core/acquiring.h"

#include <algorithm>
#include <cassert>

#include "core/timing.h"

namespace holdfast::core {
namespace {

using namespace std::chrono_literals;

constexpr Millis default_interval = 100ms;
constexpr Millis first_pause = 20ms, longest_pause = 1s;  // after failures
constexpr Millis first_poll = 5ms, longest_poll = 250ms;  // where nothing notifies
constexpr Millis stranger_poll = 500ms;                   // behind a holder that never notifies
constexpr Millis::rep most_ahead = 3;  // a waiter behind more than these polls as often as one behind these

// Other libraries that use the same tables never notify.  Names that Holdfast generates end in a guid.
bool is_holdfast_owner(const std::string& owner) {
  const std::size_t at = owner.rfind(" guid:");
  return at != std::string::npos && owner.size() - at == 6 + 32;
}

}  // namespace

Acquiring::Acquiring(AcquirePlan plan, Instant start)
    : plan_(std::move(plan)),
      give_up_(plan_.wait == Millis::zero() && plan_.attempts > 0 ? Instant::max()
                                                                  : clamped_add(start, plan_.wait)),
      horizon_(std::max(give_up_, clamped_add(start, attempt_limit(plan_.ttl)))) {}

Acquiring::Step Acquiring::next(Instant now, double jitter) {
  assert(state_ != State::sent);  // the last Send has not been reported
  if (state_ == State::done) return done_;
  if (stopped_) {
    finish(Errc::stopped);
    return done_;
  }
  if (sleep_from_) {
    asleep_until_ = std::min(clamped_add(*sleep_from_, poll_pause(jitter)), give_up_);
    sleep_from_.reset();
  }
  if (state_ == State::asleep) {
    if (now < asleep_until_) return Sleep{asleep_until_};
    state_ = State::ready;
  }
  if (waits() && now >= (attempts_ > 0 ? give_up_ : horizon_)) {
    finish(last_failure_ == Errc::busy ? Errc::timeout : last_failure_);
    return done_;
  }
  if (attempts_ > 0 && now >= horizon_) {  // an attempt in doubt has used up the time of the only one
    finish(last_failure_);
    return done_;
  }
  // A call that does not wait gets a full attempt from `now`: the process may have been paused since the
  // start.
  const Instant limit = clamped_add(now, attempt_limit(plan_.ttl));
  in_flight_until_ = attempts_ == 0 && !waits() ? limit : std::min(limit, horizon_);
  state_ = State::sent;
  ++attempts_;
  queued_ = queued_ || queues();
  placing_.reset();
  if (place_is_due(now)) placing_ = {now, place_to_ask_for()};
  return Send{*in_flight_until_, placing_ ? placing_->life : Millis::zero()};
}

// A poll between two refreshes only reads, so the store has nothing to write.
bool Acquiring::place_is_due(Instant now) const {
  return queues() && (!placed_ || now - placed_->since >= placed_->life / 4);
}

// A dead waiter blocks those behind it while its place lasts, but only when it has become the first.  So
// places far behind may last longer.
Millis Acquiring::place_to_ask_for() const {
  return last_.ahead > most_ahead ? longest_place(plan_.place) : plan_.place;
}

void Acquiring::answered(Instant sent, Instant now, const Reply& reply) {
  assert(state_ == State::sent);
  failures_ = 0;
  last_ = reply;
  if (placing_) {
    // Our place may have expired, and this is a new one.
    if (placed_ && now - placed_->since > placed_->life) checked_ = false;
    placed_ = placing_;
  }
  if (reply.verdict != Verdict::granted) return busy(now);
  const Millis life = granted_life(plan_.ttl, reply.remaining);
  const bool in_time = worth_having(now, deadline_of(sent, life, plan_.margin), plan_.ttl);
  finish(in_time ? std::nullopt : std::optional(Errc::too_late));
}

void Acquiring::busy(Instant now) {
  last_failure_ = Errc::busy;
  if (!waits()) return finish(Errc::busy);
  if (scheduled()) return pause_by_schedule(now, Errc::timeout);
  if (queues() && !checked_) {
    // The request that found the key busy also wrote our place.  A release just before that did not see the
    // place, and notified nobody.  So: subscribe, then check, then sleep.
    checked_ = true;
    state_ = State::ready;
    return;
  }
  state_ = State::asleep;
  sleep_from_ = now;
  ++polls_;
}

void Acquiring::failed(Instant now, const Error& error) {
  assert(state_ == State::sent);
  last_failure_ = error.code;
  const bool in_doubt = error.code == Errc::in_doubt;
  if (!in_doubt && error.code != Errc::unavailable) return finish(error.code);
  if (in_doubt) unclear_until_ = in_flight_until_;
  ++failures_;
  if (scheduled()) return pause_by_schedule(now, error.code);
  if (!in_doubt && !waits()) return finish(error.code);
  if (in_doubt && failures_ == 1) {
    state_ = State::ready;  // every verb is idempotent for its owner: send the same request again
    return;
  }
  pause(now, backoff(first_pause, longest_pause, failures_ - 1));
}

void Acquiring::pause(Instant now, Millis length) {
  state_ = State::asleep;
  asleep_until_ = std::min(clamped_add(now, length), waits() ? give_up_ : horizon_);
}

void Acquiring::pause_by_schedule(Instant now, Errc if_over) {
  if (plan_.attempts > 0 && attempts_ >= plan_.attempts) {
    return finish(last_failure_ == Errc::busy ? Errc::exhausted : last_failure_);
  }
  const Millis length =
      plan_.interval ? std::max(plan_.interval(attempts_), Millis::zero()) : default_interval;
  if (clamped_add(now, length) >= give_up_) return finish(if_over);  // no sleep after the last attempt
  pause(now, length);
}

// The time until the next poll of a busy key.  A notification may be lost, so we always poll; at the latest
// when the holder's lease ends, and before our place expires.
Millis Acquiring::poll_pause(double jitter) const {
  const bool rings = plan_.push && queues();
  // A waiter further behind polls less often: those before it come first.
  const Millis apart = longest_poll * (1 + std::min<Millis::rep>(last_.ahead, most_ahead));
  const Millis refresh = placed_ ? placed_->life / 3 : Millis::max();
  Millis length = rings ? refresh : backoff(first_poll, apart, polls_ - 1);
  length = std::min(length, refresh);
  const bool stranger = rings && !last_.owner.empty() && !is_holdfast_owner(last_.owner);
  length = std::max(scaled(length, 0.8 + 0.4 * jitter), Millis(1));
  if (stranger) length = std::min(length, stranger_poll);
  if (last_.remaining != never)
    length = std::min(length, last_.remaining + Millis(1) + scaled(Millis(10), jitter));
  return length;
}

void Acquiring::ready() {
  if (state_ != State::asleep || scheduled()) return;
  polls_ = 0;
  sleep_from_.reset();
  asleep_until_ = Instant::min();
}

void Acquiring::stop() { stopped_ = true; }

void Acquiring::finish(std::optional<Errc> failed) {
  state_ = State::done;
  if (failed == Errc::unavailable && unclear_until_)
    failed = Errc::in_doubt;  // an earlier one may have been applied
  const bool tidy = failed && (queued_ || unclear_until_ || failed == Errc::too_late);
  done_ = Done{.failed = failed, .tidy = tidy, .tidy_again = unclear_until_};
}

}  // namespace holdfast::core
