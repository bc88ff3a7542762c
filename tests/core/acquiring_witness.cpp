// SPDX-License-Identifier: Apache-2.0
#include "tests/core/acquiring_witness.h"

#include "tests/core/attempt.h"

namespace holdfast::core {
namespace {

constexpr Millis remaining_soon = 40ms;
constexpr Millis latest_poll = 11ms;  // after the end of the holder's lease
constexpr Millis default_interval = 100ms;
constexpr Millis longest_pause = 1s;    // after failures
constexpr Millis longest_poll = 300ms;  // where nothing notifies
constexpr Millis longest_poll_of_strangers = 500ms;

std::string text(Errc code) { return to_string(code); }

}  // namespace

const char* name(Event event) {
  switch (event) {
    case Event::granted: return "granted";
    case Event::granted_late: return "granted_late";
    case Event::busy_soon: return "busy_soon";
    case Event::busy_long: return "busy_long";
    case Event::busy_stranger: return "busy_stranger";
    case Event::unavailable: return "unavailable";
    case Event::in_doubt: return "in_doubt";
    case Event::in_doubt_slowly: return "in_doubt_slowly";
    case Event::refused: return "refused";
    case Event::slept: return "slept";
    case Event::woken: return "woken";
    case Event::ready: return "ready";
    case Event::stop_and_busy: return "stop_and_busy";
    case Event::stop_and_grant: return "stop_and_grant";
    case Event::stop: return "stop";
  }
  return "?";
}

bool is_busy(Event event) {
  return event == Event::busy_soon || event == Event::busy_long || event == Event::busy_stranger ||
         event == Event::stop_and_busy;
}

Reply busy_reply(Event event) {
  if (event == Event::busy_stranger)
    return {.verdict = Verdict::busy, .token = Token{7}, .owner = "ann", .remaining = Millis(never)};
  return {.verdict = Verdict::busy,
          .token = Token{7},
          .owner = one_of_us,
          .remaining = event == Event::busy_soon ? remaining_soon : Millis(1h)};
}

std::string Witness::sees(const Acquiring::Step& step, Instant now, int attempts) {
  if (const auto* send = std::get_if<Acquiring::Send>(&step)) {
    ++sends_;
    if (busies_ > 0) ++sends_since_first_busy_;
    asleep_until_.reset();
    until_ = send->until;
    if (attempts != sends_)
      return "attempts() is " + std::to_string(attempts) + " after " + std::to_string(sends_);
    std::string wrong = sees_send(*send, now);
    placing_ = send->place > 0ms ? std::optional(now) : std::nullopt;
    return wrong;
  }
  if (const auto* sleep = std::get_if<Acquiring::Sleep>(&step)) {
    std::string wrong = sees_sleep(*sleep, now);
    asleep_until_ = sleep->until;
    return wrong;
  }
  return sees_done(std::get<Acquiring::Done>(step), now);
}

void Witness::hears(Event event, Instant now) {
  const bool in_sleep =
      event == Event::slept || event == Event::woken || event == Event::ready || event == Event::stop;
  stopped_ =
      stopped_ || event == Event::stop || event == Event::stop_and_busy || event == Event::stop_and_grant;
  if (event == Event::ready && !scheduled()) asleep_until_.reset();
  if (in_sleep) return;
  last_ = event;
  heard_ = now;
  if (is_busy(event) && placing_) placed_ = placing_;
  if (is_busy(event)) ++busies_;
  if (event == Event::in_doubt || event == Event::in_doubt_slowly) {
    unclear_until_ = std::max(unclear_until_.value_or(until_), until_);
  }
}

std::string Witness::sees_send(const Acquiring::Send& send, Instant now) const {
  if (stopped_) return "sends after a stop";
  if (asleep_until_ && now < *asleep_until_) return "sends while it should sleep";
  if (send.until <= now) return "sends with no time left";
  if (send.until > horizon()) return "sends past the end of the wait";
  if (send.until > clamped_add(now, attempt_limit(plan_->ttl)))
    return "gives one call more than an attempt gets";
  // In between it only reads.
  const bool kept = placed_ && now - *placed_ < plan_->place / 4;
  if (send.place != (queues() && !kept ? plan_->place : 0ms))
    return "asks for a place of " + std::to_string(ms(send.place)) + " ms";
  if (plan_->attempts > 0 && sends_ > plan_->attempts) return "sends more often than allowed";
  if (!waits() && busies_ > 0) return "asks again where nobody waits";
  return {};
}

std::string Witness::sees_sleep(const Acquiring::Sleep& sleep, Instant now) const {
  if (stopped_) return "sleeps after a stop";
  if (sends_ == 0) return "sleeps before it has asked";
  if (sleep.until <= now) return "sleeps until the past";
  if (sleep.until > (waits() ? give_up() : horizon())) return "sleeps past the end of the wait";
  if (plan_->attempts > 0 && sends_ >= plan_->attempts) return "sleeps after the last attempt";
  if (asleep_until_) return *asleep_until_ == sleep.until ? "" : "changes its mind about how long to sleep";
  const Millis length = std::chrono::ceil<Millis>(sleep.until - heard_);
  if (scheduled()) {
    const Millis asked = plan_->interval ? plan_->interval(sends_) : default_interval;
    return length == asked ? ""
                           : "sleeps " + std::to_string(ms(length)) + " ms instead of what the schedule says";
  }
  if (last_was_busy()) return sees_sleep_behind_a_holder(length);
  return length <= longest_pause ? "" : "pauses too long after a failure";
}

std::string Witness::sees_sleep_behind_a_holder(Millis length) const {
  if (!waits()) return "sleeps although nobody waits";
  if (queues() && sends_since_first_busy_ == 0) return "sleeps before it has asked again with its place kept";
  const Reply reply = busy_reply(*last_);
  if (reply.remaining != never && length > reply.remaining + latest_poll)
    return "sleeps past the end of the holder's lease";
  if (last_was(Event::busy_stranger) && length > longest_poll_of_strangers)
    return "leaves a stranger alone too long";
  if (queues() && length > plan_->place / 3 * 1.2 + 1ms) return "lets its place run out";
  if (!(queues() && plan_->push) && length > longest_poll) return "polls too seldom";
  return {};
}

std::string Witness::sees_done(const Acquiring::Done& done, Instant now) const {
  const bool was_granted = last_was(Event::granted) || last_was(Event::stop_and_grant);
  if (!done.failed) {
    if (!was_granted) return "is granted without a grant";
    if (done.tidy) return "gives back what it has taken";
    return done.tidy_again == unclear_until_ ? "" : "forgets that an earlier acquire may still arrive";
  }
  const Errc code = *done.failed;
  if (was_granted) return "throws a grant away: " + text(code);
  if (std::string wrong = sees_tidying(done); !wrong.empty()) return wrong;
  if (last_was(Event::granted_late)) return code == Errc::too_late ? "" : "calls a late grant " + text(code);
  if (last_was(Event::refused)) return code == Errc::refused ? "" : "calls a refusal " + text(code);
  if (last_was_busy() && !waits()) return code == Errc::busy ? "" : "calls a busy key " + text(code);
  if (code == Errc::unavailable && unclear_until_) return "says that nothing was applied, which is not known";
  if (stopped_ && code == Errc::stopped) return {};
  if (stopped_ && !scheduled())
    return "calls a stop " + text(code);  // a schedule may have ended with the answer
  return sees_end_of_patience(code, now);
}

std::string Witness::sees_end_of_patience(Errc code, Instant now) const {
  if (sends_ == 0) return "gives up before it has asked";
  const bool in_doubt = last_was(Event::in_doubt) || last_was(Event::in_doubt_slowly);
  const bool last_attempt = plan_->attempts > 0 && sends_ == plan_->attempts;
  if (last_was_busy()) {
    if (code != (last_attempt ? Errc::exhausted : Errc::timeout))
      return "calls the end of its patience " + text(code);
  } else if (code != (in_doubt || unclear_until_ ? Errc::in_doubt : Errc::unavailable)) {
    return "calls a failure " + text(code);
  }
  if (last_attempt || now >= (waits() ? give_up() : horizon())) return {};
  if (!waits() && !in_doubt) return {};
  const Millis pause = plan_->interval ? plan_->interval(sends_) : default_interval;
  if (scheduled() && clamped_add(now, pause) >= give_up()) return {};
  return "gives up before its time";
}

std::string Witness::sees_tidying(const Acquiring::Done& done) const {
  if (queues() && sends_ > 0 && !done.tidy) return "stays in the queue";
  if (last_was(Event::granted_late) && !done.tidy) return "keeps a late grant";
  if (!unclear_until_) return done.tidy_again ? "tidies twice although nothing is in doubt" : "";
  if (!done.tidy) return "leaves behind what may have been granted";
  if (!done.tidy_again || *done.tidy_again < *unclear_until_)
    return "does not tidy again after what was in doubt is void";
  return {};
}

}  // namespace holdfast::core
