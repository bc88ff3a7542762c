// SPDX-License-Identifier: Apache-2.0
#include "jobs/context.h"

#include <algorithm>

#include "base/text.h"

namespace holdfast {

void JobContext::State::listen() {
  if (claimed) on_claim_.emplace(claim.stop_token(), Request{&source});
  if (locked()) on_lock_.emplace(lock.stop_token(), Request{&source});
}

JobId JobContext::id() const noexcept { return state_.job.id; }
std::string_view JobContext::name() const noexcept { return state_.job.name; }
std::string_view JobContext::queue() const noexcept { return state_.job.queue; }
const Args& JobContext::args() const noexcept { return state_.args; }
int JobContext::attempt() const noexcept { return state_.job.attempt; }
Moment JobContext::run_at() const noexcept { return state_.job.run_at; }
bool JobContext::held() const noexcept { return state_.held(); }
Token JobContext::token() const noexcept { return state_.lock.token(); }
std::string_view JobContext::lock_key() const noexcept { return state_.lock.key(); }
std::string_view JobContext::owner() const noexcept { return state_.job.owner; }
std::string_view JobContext::blocker() const noexcept { return state_.blocker; }

std::stop_token JobContext::stop_token() const {
  // In a forked child no thread is left that would request the stop.
  const Lease& ours = state_.claimed ? state_.claim : state_.lock;
  if (!ours.held() && ours.lost().reason == Loss::forked) return ours.stop_token();
  return state_.source.get_token();
}

Instant JobContext::deadline() const noexcept {
  if (state_.draining) return Instant::min();
  const auto end_of = [](const Lease& lease) { return lease.held() ? lease.deadline() : Instant::min(); };
  const bool renewed = state_.locked() && state_.timeout == Millis::zero();
  const Instant claim = state_.claimed ? end_of(state_.claim) : Instant::max();
  return renewed ? std::min(claim, end_of(state_.lock)) : claim;
}

void JobContext::check() const {
  if (state_.claimed) state_.claim.check();
  if (state_.locked()) state_.lock.check();
  if (state_.draining) throw_failure({Errc::stopped, "the worker is shutting down"});
}

// A job whose claim is lost has lost its lock too, also if the store would still renew the lock.  The stop is
// requested a moment before held() turns false.
bool JobContext::refresh_lock() {
  if (!state_.locked() || !state_.held()) return false;
  if (state_.claimed && state_.claim.stop_token().stop_requested()) return false;
  const std::lock_guard lock(state_.refreshing);
  const bool timed = state_.timeout > Millis::zero();  // else the lease's own ttl, which is renewed anyway
  return state_.lock.try_renew(timed ? std::optional(state_.timeout) : std::nullopt).has_value();
}

}  // namespace holdfast
