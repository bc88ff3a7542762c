// SPDX-License-Identifier: Apache-2.0
#include "client/attempt.h"

#include <utility>

#include "base/text.h"
#include "base/time.h"
#include "client/telemetry.h"
#include "core/timing.h"

namespace holdfast {

using namespace std::chrono_literals;

Attempt::Attempt(ClientState& client, std::string_view key, const std::string& owner,
                 const core::Terms& terms)
    : client_(client),
      key_(key),
      terms_(terms),
      owner_(owner),
      start_(BootClock::now()),
      give_up_(clamped_add(start_, terms.wait)),
      acquiring_(plan(), start_),
      jitter_(static_cast<std::uint64_t>(start_.time_since_epoch().count())) {}

core::AcquirePlan Attempt::plan() const {
  const Traits& traits = client_.traits();
  return {.ttl = terms_.ttl,
          .margin = core::margin_of(terms_.ttl, client_.options().margin, traits.resolution),
          .wait = terms_.wait,
          .attempts = terms_.attempts,
          .interval = terms_.interval,
          .fair = terms_.fair && traits.fair,
          .place = client_.options().place,
          .push = traits.push};
}

// The caller's interval function may throw, and memory may run out.  A lease that may have been granted is
// given back also then, so the memory for the release is allocated before the first request.
Result<std::shared_ptr<LeaseState>> Attempt::run() {
  room_ = Keeper::room_for({.verb = Verb::release, .key = {key_}, .owner = given_back()});
  try {
    return take_turn();
  } catch (...) {
    core::Acquiring::Done done{};
    done.tidy = true;
    done.tidy_again = clamped_add(BootClock::now(), core::attempt_limit(terms_.ttl));
    tidy(done);
    throw;
  }
}

Result<std::shared_ptr<LeaseState>> Attempt::take_turn() {
  if (!terms_.queues()) return drive();
  waiter_.emplace(client_.waiting_, key_);
  const std::stop_callback wake(terms_.stop, [this] { waiter_->wake(); });
  if (auto settled = wait_for_turn()) return *std::move(settled);
  return drive();
}

// The store sees all waiters of this process for this key as one: the first at the gate sends the requests.
std::optional<Result<std::shared_ptr<LeaseState>>> Attempt::wait_for_turn() {
  if (waiter_->first()) return std::nullopt;
  // The user's owner name may hold the key already; then it must not wait here behind another owner.
  if (terms_.owner && ask_as_owner(clamped_add(start_, core::attempt_limit(terms_.ttl)))) return grant();
  while (!waiter_->first()) {
    const bool over = BootClock::now() >= give_up_;
    if (over || stopped()) {
      const Reply last = waiter_->last_reply();
      tidy({});
      return over ? busy(Errc::timeout, last)
                  : Error{Errc::stopped, "asked to stop while waiting for " + printable(key_)};
    }
    waiter_->sleep(give_up_);
  }
  return std::nullopt;
}

Result<std::shared_ptr<LeaseState>> Attempt::drive() {
  using core::Acquiring;
  while (true) {
    if (stopped()) acquiring_.stop();
    const auto step = acquiring_.next(BootClock::now(), jitter_.fraction());
    if (const auto* to_send = std::get_if<Acquiring::Send>(&step)) {
      send(*to_send);
    } else if (const auto* to_sleep = std::get_if<Acquiring::Sleep>(&step)) {
      if (waiter_) {
        waiter_->sleep(to_sleep->until);
        if (BootClock::now() < to_sleep->until) acquiring_.ready();
      } else {
        Wakeup wakeup;
        const std::stop_callback wake(terms_.stop, [&] { wakeup.ring(); });
        wakeup.wait(to_sleep->until);
      }
    } else {
      const auto& done = std::get<Acquiring::Done>(step);
      if (!done.failed) return grant(done.tidy_again);
      return give_up(done);
    }
  }
}

void Attempt::send(const core::Acquiring::Send& step) {
  if (failure_)
    client_.telemetry().notify(&Observer::on_retry,
                               RetryEvent{client_.telemetry().about({key_}, {owner_}),
                                          RetryEvent::What::acquire, acquiring_.attempts() - 1, *failure_});
  failure_.reset();
  sent_ = BootClock::now();  // before the first byte: our window must begin before the store's
  // A free key with a live waiter is busy for everyone else, also for other threads of the waiter's process.
  // The store cannot distinguish those threads, so this is decided here.
  if (const auto queue = waiter_ ? std::nullopt : client_.waiting_.queue_at(key_)) {
    // But it may be ours already: by the name, or because the reply that said so was lost.  Then that thread
    // waits for us.
    const bool mine = (terms_.owner || unclear_until_) && ask_as_owner(step.until);
    return acquiring_.answered(sent_, BootClock::now(), mine ? reply_ : *queue);
  }
  if (waiter_ && step.place > 0ms) waiter_->queueing();
  const auto reply = client_.send({.verb = Verb::acquire,
                                   .key = {key_},
                                   .owner = {owner_},
                                   .ttl = terms_.ttl,
                                   .place = step.place,
                                   .longest_place = core::longest_place(client_.options().place),
                                   .detached = terms_.detached,
                                   .note = terms_.note},
                                  step.until);
  if (!reply) {
    log_failure(reply.error());
    failure_ = reply.error();
    if (reply.error().in_doubt()) unclear_until_ = step.until;
    return acquiring_.failed(BootClock::now(), reply.error());
  }
  logged_.clear();
  reply_ = *reply;
  if (waiter_ && reply_.verdict == Verdict::busy) {
    waiter_->set_last_reply(reply_);
    client_.waiting_.listen(step.until);  // between keeping our place and the check that follows
  }
  acquiring_.answered(sent_, BootClock::now(), reply_);
}

// A caller that waits for minutes should see the cause in its log.  A caller that does not wait gets it as
// the result.
void Attempt::log_failure(const Error& error) {
  if (terms_.wait == 0ms || !client_.telemetry().logs() || !error.retryable()) return;
  if (std::exchange(logged_, error.detail) == error.detail) return;
  client_.telemetry().log(LogLevel::warning,
                          "cannot acquire " + printable(key_) + ": " + error.detail + "; trying again",
                          {{"key", key_}, {"owner", owner_}, {"error", error.detail}});
}

// Whether the owner holds the key already: a renewal shows that without a change of the queue.
bool Attempt::ask_as_owner(Instant until) {
  sent_ = BootClock::now();
  const auto reply =
      client_.send({.verb = Verb::renew, .key = {key_}, .owner = {owner_}, .ttl = terms_.ttl}, until);
  if (!reply) return false;
  if (reply->verdict != Verdict::granted) {
    if (unclear_until_ && *unclear_until_ < sent_)
      unclear_until_.reset();  // no request of this call can be granted any more
    return false;
  }
  reply_ = *reply;
  return true;
}

std::shared_ptr<LeaseState> Attempt::grant(std::optional<Instant> unclear_until) {
  if (waiter_) waiter_->granted();
  const auto lease = std::make_shared<LeaseState>(std::string(key_), owner_, reply_.token,
                                                  std::max(acquiring_.attempts(), 1));
  lease->detached = terms_.detached;
  lease->named = terms_.owner.has_value();
  lease->finished = terms_.finished;
  if (!terms_.owner) lease->unclear_until = unclear_until;
  const core::KeepPlan plan{.ttl = terms_.ttl,
                            .keep = terms_.keep && !terms_.detached,
                            .renew_every = terms_.renew_every,
                            .late = static_cast<bool>(terms_.finished),
                            .max_renewals = terms_.max_renewals,
                            .margin = client_.options().margin,
                            .resolution = client_.traits().resolution};
  client_.keeper().keep(lease, core::Belief(plan, sent_, reply_.remaining));
  return lease;
}

Error Attempt::give_up(const core::Acquiring::Done& done) {
  tidy(done);
  const std::string on_key = " on " + printable(key_);
  switch (*done.failed) {
    case Errc::busy:
    case Errc::timeout:
    case Errc::exhausted: return busy(*done.failed, acquiring_.last());
    case Errc::stopped: return {Errc::stopped, "asked to stop while waiting for " + printable(key_)};
    case Errc::too_late:
      return {Errc::too_late,
              "the lease" + on_key + " was granted too late: less than half of its ttl was left; " +
                  (terms_.owner ? "it is left to expire, as others may hold it by the same owner name"
                                : "it was given back")};
    case Errc::in_doubt:
      return {Errc::in_doubt,
              "it is not known whether the lease" + on_key + " was granted: " + failure_->detail};
    case Errc::unavailable:
    case Errc::refused:
    case Errc::unprepared:
    case Errc::invalid:
    case Errc::lost:
    case Errc::forked: break;
  }
  return failure_.value_or(
      Error{*done.failed, "cannot acquire " + printable(key_) + ": " + to_string(*done.failed)});
}

// Gives back what may have been granted, and leaves the queue if no other thread of this process waits.  The
// keeper sends that, because the caller's time is over.
void Attempt::tidy(const core::Acquiring::Done& done) {
  const bool last = waiter_ && waiter_->leave();
  if ((!done.tidy && !last) || !room_) return;
  room_.mapped().place = last ? 1ms : 0ms;
  if (done.tidy_again) room_.mapped().again = *done.tidy_again + 1ms;
  client_.pending_release(std::move(room_), BootClock::now(), terms_.ttl);
}

Error Attempt::busy(Errc code, const Reply& reply) const {
  std::string text;
  if (code == Errc::timeout) text = "timed out after " + format_duration(terms_.wait) + ": ";
  if (code == Errc::exhausted)
    text = "gave up after " + std::to_string(acquiring_.attempts()) + " attempts: ";
  const std::string still = text.empty() ? " is " : " is still ";
  text += printable(key_) + still +
          (reply.owner.empty() ? "reserved for earlier waiters" : "held by " + printable(reply.owner));
  return {.code = code,
          .detail = std::move(text),
          .owner = reply.owner,
          .remaining = core::reported(reply.remaining)};
}

}  // namespace holdfast
