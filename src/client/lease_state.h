// SPDX-License-Identifier: Apache-2.0
// lease_state.h - one lease, shared by the Lease object and the client's threads.
#pragma once
#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "base/sync.h"
#include "core/batching.h"
#include "core/keeping.h"
#include "holdfast/lease.h"
#include "holdfast/spi/store.h"

namespace holdfast {

struct LeaseState;

// How the claims of jobs are renewed, many in one call.  Used by the renewal thread only.
class ClaimRenewals {
 public:
  virtual ~ClaimRenewals() = default;
  // Fills replies[i] for claims[i]: granted, lost, or an error.
  virtual Status renew(std::span<const std::shared_ptr<LeaseState>> claims, std::span<Reply> replies,
                       Instant until) = 0;

  core::BatchSize at_once;
  std::string trouble;  // why the last renewal failed; empty: it did not
};

//   held ──release()──> released
//     └──deadline passed, or the store replied lost──> losing ──the stop was requested──> lost (final)
//
// While it is losing, held() is still true: the stop is requested first.
struct LeaseState {
  enum class Phase : std::uint8_t { held, released, lost };

  LeaseState(std::string k, std::string h, Token t, int tries)
      : key(std::move(k)), owner(std::move(h)), token(t), attempts(tries) {}

  const std::string key;
  const std::string owner;
  const Token token;
  const int attempts;
  core::Keeping::Id id = 0;  // at the keeper
  bool detached = false;
  bool named = false;  // the user gave the owner's name, so other Lease objects may hold the same grant
  // The claim of a job: the store has no such lease, and it is not observed as one.  Null: a lease.
  std::shared_ptr<ClaimRenewals> claim = {};
  int failed_renewals = 0;         // in a row; used by the renewal thread only
  bool failure_logged = false;     // that this lease alone cannot be renewed; used by the renewal thread only
  std::function<bool()> finished;  // called by the keeper only
  // An earlier acquire of this owner got no reply and may reach the store until then, also after the release.
  // So one more release follows.
  std::optional<Instant> unclear_until;

  std::atomic<Instant::rep> deadline = 0;  // believed; always before the store's expiry
  std::atomic<Phase> phase = Phase::held;
  std::atomic<Millis::rep> ttl_ms = 0;  // of the next renewal

  mutable Mutex mutex;  // guards what follows
  std::stop_source lost_source;
  std::vector<std::stop_source> earlier_sources;  // of objects that this one was assigned to
  bool stop_given = false;                        // somebody has a token of lost_source
  Lost lost;            // set also if the reply to the release shows that it was lost
  bool losing = false;  // begin_loss() was called
  bool in_jeopardy = false;
  bool loss_notified = false;  // on_lost was called, or would have been if it were set
  std::function<void()> on_jeopardy;
  std::function<void(const Lost&)> on_lost;
  std::function<void(Instant)> on_renewed;

  std::shared_ptr<LeaseState> next_unnotified;  // used by the deadline thread only: see Keeper::State

  // Stop is requested when the lease is lost.
  std::stop_token give_stop() {
    const std::lock_guard lock(mutex);
    stop_given = true;
    return lost_source.get_token();
  }
  // True if this call has requested it.  Runs stop_callbacks, so no lock is held meanwhile.
  bool request_stop() noexcept {
    bool requested = false;
    std::stop_source source(std::nostopstate);
    for (std::size_t n = 0; take_source(n, source); ++n) requested = source.request_stop() || requested;
    return requested;
  }
  bool is_grant_of(const LeaseState& other) const noexcept {
    return key == other.key && owner == other.owner && token == other.token;
  }

  Instant believed_until() const noexcept {
    return Instant(Instant::duration(deadline.load(std::memory_order_acquire)));
  }
  bool held() const noexcept {
    return phase.load(std::memory_order_acquire) == Phase::held && BootClock::now() < believed_until();
  }
  Millis ttl() const noexcept { return Millis(ttl_ms.load()); }

  // Each returns true to the one caller that changed the phase.
  bool release() {
    const std::lock_guard lock(mutex);
    return leave(Phase::released);
  }
  // A loss has two steps.  Between them the stop is requested, so that this happens before held() turns
  // false.  The reason is set before the phase changes.
  bool begin_loss(Lost why) {
    const std::lock_guard lock(mutex);
    if (phase.load() != Phase::held || losing) return false;
    lost = std::move(why);
    return losing = true;
  }
  void finish_loss() {
    const std::lock_guard lock(mutex);
    if (losing) leave(Phase::lost);
  }
  // The loss has begun, and no release came before its end.
  bool is_losing() const {
    const std::lock_guard lock(mutex);
    return losing && phase.load() != Phase::released;
  }

 private:
  bool take_source(std::size_t n, std::stop_source& source) const noexcept {
    const std::lock_guard lock(mutex);
    if (n > earlier_sources.size()) return false;
    source = n == 0 ? lost_source : earlier_sources[n - 1];
    return true;
  }
  bool leave(Phase next) {
    Phase expected = Phase::held;
    return phase.compare_exchange_strong(expected, next, std::memory_order_acq_rel);
  }
};

}  // namespace holdfast
