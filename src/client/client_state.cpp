// SPDX-License-Identifier: Apache-2.0
#include "client/client_state.h"

#include <system_error>

#include "base/process.h"
#include "base/text.h"
#include "client/attempt.h"
#include "core/check.h"
#include "core/timing.h"
#include "core/verdicts.h"

namespace holdfast {
namespace {

using namespace std::chrono_literals;

constexpr Millis longest_pending_release = 1s;

}  // namespace

ClientState::ClientState(std::shared_ptr<Store> store, ClientOptions options)
    : store_(std::move(store)),
      options_(std::move(options)),
      owner_start_(owner_name(store_->client())),
      telemetry_(std::make_shared<Telemetry>(options_, *store_)),
      shared_(std::make_shared<SharedConnection>(store_, telemetry_, options_.batch_limit)),
      waiting_([this](Instant until) { return connection().listener(until); }),
      keeper_(store_, std::shared_ptr<StoreConnection>(shared_, &shared_->batched), telemetry_,
              waiting_.heir()) {}

Status ClientState::open() {
  if (opened_) return {};
  const Instant until = clamped_add(BootClock::now(), options_.connect_wait);
  {
    std::unique_lock lock(open_mutex_);
    if (!open_ended_.wait_for(lock, options_.connect_wait, [this] { return !opening_; }))
      return Error{Errc::unavailable, store_->name() +
                                          ": timed out while another thread of this process was opening the "
                                          "store; check the store with `holdfast doctor`"};
    if (opened_) return {};
    opening_ = true;
  }
  struct Ending {
    ~Ending() {
      const std::lock_guard lock(of.open_mutex_);
      of.opening_ = false;
      of.open_ended_.notify_all();
    }
    ClientState& of;
  };
  {
    const Ending ending{*this};
    auto traits = examine(until);
    if (!traits) return std::move(traits).error();
    traits_ = *std::move(traits);
    if (!traits_.tidies) keeper_.purge_every(options_.purge_every);
    opened_ = true;
  }
  for (const Finding& finding : traits_.findings) {
    if (finding.at_open) telemetry_->log(finding);
  }
  return {};
}

Result<Traits> ClientState::examine(Instant until) {
  auto traits = connection().examine(until);
  if (traits || !options_.init || traits.error().code != Errc::unprepared) return traits;
  const auto init = [&] { return store_->admin()->init(until); };
  if (auto made = telemetry_->reported(StoreOperation::init, init); !made) return std::move(made).error();
  return connection().examine(until);
}

Status ClientState::check_not_forked() const {
  if (!forked()) return Status{};
  return Error{Errc::forked,
               "this client was opened by the parent process; open the store again after fork()"};
}

Status ClientState::check_ready() {
  if (Status s = check_not_forked(); !s) return s;
  return open();
}

Result<Reply> ClientState::send(const Request& request, Instant until) {
  Reply reply;
  Status status = connection().apply({&request, 1}, {&reply, 1}, until);
  if (!status) return std::move(status).error();
  if (reply.error) return *std::move(reply.error);
  return reply;
}

Result<std::shared_ptr<LeaseState>> ClientState::acquire(std::string_view key,
                                                         const AcquireOptions& options) {
  if (Status s = check_not_forked(); !s) return std::move(s).error();
  if (Status s = check_key(key); !s) return std::move(s).error();
  return acquire(key, core::settle(options, options_.defaults, options_.margin));
}

Result<std::shared_ptr<LeaseState>> ClientState::acquire(std::string_view key, const core::Terms& terms) {
  if (Status s = check_not_forked(); !s) return std::move(s).error();
  if (Status s = check_key(key); !s) return std::move(s).error();
  if (Status s = core::check_terms(terms, options_.margin); !s) return std::move(s).error();
  const Instant start = telemetry_->observes() ? BootClock::now() : Instant();
  const std::string owner = terms.owner ? *terms.owner : new_owner();
  auto lease = attempt({key}, owner, terms);
  if (!telemetry_->observes()) return lease;
  const auto waited = std::chrono::floor<Millis>(BootClock::now() - start);
  if (!lease && lease.error().code == Errc::invalid) return lease;
  if (!lease)
    telemetry_->notify(&Observer::on_not_acquired,
                       NotAcquiredEvent{telemetry_->about({key}, {owner}), lease.error(), waited});
  else
    telemetry_->notify(&Observer::on_acquired,
                       AcquiredEvent{telemetry_->about(**lease), waited, (*lease)->attempts});
  return lease;
}

Result<std::shared_ptr<LeaseState>> ClientState::attempt(Key key, const std::string& owner,
                                                         const core::Terms& terms) {
  try {
    if (Status s = open(); !s) return std::move(s).error();
    keeper_.get_ready();  // before anything is acquired: a lease without these threads would not be watched
    return Attempt(*this, key.text, owner, terms).run();
  } catch (const std::system_error& e) {  // out of descriptors or threads
    return Error{Errc::unavailable, "cannot acquire " + printable(key.text) + ": " + e.what()};
  }
}

Status ClientState::renew(const std::shared_ptr<LeaseState>& lease, Millis ttl, bool extend) {
  if (Status s = check_not_forked(); !s) return s;
  const auto gone = [&] {
    const std::lock_guard lock(lease->mutex);
    return Error{.code = Errc::lost,
                 .detail = "the lease on " + printable(lease->key) + " is lost: " + lease->lost.detail,
                 .loss = lease->lost.reason};
  };
  if (!lease->held()) return gone();
  const Instant sent = BootClock::now();
  const Instant until =
      std::min(lease->believed_until(), clamped_add(sent, core::attempt_limit(lease->ttl())));
  const auto reply = send({.verb = Verb::renew,
                           .key = {lease->key},
                           .owner = {lease->owner},
                           .token = lease->token,
                           .ttl = ttl,
                           .extend = extend},
                          until);
  if (!reply) return reply.error();
  if (reply->verdict == Verdict::granted) {
    const bool in_time = extend ? keeper_.extended(*lease, ttl, sent, reply->remaining)
                                : keeper_.renewed(*lease, ttl, sent, reply->remaining);
    if (!in_time) return gone();
    telemetry_->notify(&Observer::on_renewed,
                       RenewedEvent{telemetry_->about(*lease), lease->believed_until()});
    return Status{};
  }
  keeper_.lose_now(lease, why_lost(connection(), *lease, *reply, Instant::max()));
  return gone();
}

Result<Released> ClientState::release(const std::shared_ptr<LeaseState>& lease) {
  if (Status s = check_not_forked(); !s) return std::move(s).error();
  const bool was_held = lease->release();  // from here on it expires unless the release arrives
  keeper_.drop(*lease);
  if (!was_held && lease->phase.load() == LeaseState::Phase::released) return Released::already_released;
  // Their stop is requested before anybody else can be granted the key.
  for (const auto& other : keeper_.others_of(*lease))
    keeper_.lose_now(other, {Loss::gone, "another Lease object of the same owner released it"});
  auto found = send_release(lease, was_held);
  if (was_held)
    telemetry_->notify(&Observer::on_released, ReleasedEvent{telemetry_->about(*lease),
                                                             found ? std::optional(*found) : std::nullopt});
  return found;
}

Result<Released> ClientState::send_release(const std::shared_ptr<LeaseState>& lease, bool was_held) {
  const Instant now = BootClock::now();
  const Request release{
      .verb = Verb::release, .key = {lease->key}, .owner = {lease->owner}, .token = lease->token};
  const auto reply = send(release, clamped_add(now, core::attempt_limit(lease->ttl())));
  release_again(*lease, now);
  if (!reply) {
    pending_release(release, now, lease->ttl(), &reply.error());
    return reply.error();
  }
  if (was_held && reply->verdict != Verdict::released) {  // lost without our knowledge
    Lost lost = why_lost(connection(), *lease, *reply, Instant::max());
    const bool broken = lost.reason == Loss::broken;
    const std::lock_guard lock(lease->mutex);
    lease->lost = std::move(lost);
    if (broken) return Released::broken;
  }
  return core::released_by(*reply, {lease->owner}, lease->token);
}

// Others may wait for the key, so the keeper retries the release until the lease has expired, or for a
// minute.
void ClientState::pending_release(const Request& release, Instant at, Millis ttl, const Error* failed) {
  auto room = Keeper::room_for(release);
  room.mapped().failures = failed != nullptr ? 1 : 0;
  pending_release(std::move(room), at, ttl);
  if (failed != nullptr)
    telemetry_->notify(&Observer::on_retry,
                       RetryEvent{telemetry_->about(release.key, release.owner, release.token),
                                  RetryEvent::What::release, 1, *failed});
}

void ClientState::pending_release(Keeper::PendingReleases::node_type release, Instant at, Millis ttl) {
  Keeper::PendingRelease& pending_release = release.mapped();
  pending_release.give_up = clamped_add(std::max(at, pending_release.again), std::min(ttl, Millis(1min)));
  keeper_.pending_release(std::move(release), at);
}

// Without the token, because an acquire that arrives late is granted another token.
void ClientState::release_again(const LeaseState& lease, Instant now) {
  if (!lease.unclear_until || *lease.unclear_until < now) return;
  const Request release{.verb = Verb::release, .key = {lease.key}, .owner = {lease.owner}};
  pending_release(release, *lease.unclear_until + 1ms, lease.ttl());
}

void ClientState::let_go(const std::shared_ptr<LeaseState>& lease, const LeaseState* next) noexcept {
  try {
    const Instant now = BootClock::now();
    const Instant deadline = lease->believed_until();
    const bool was_held = lease->release();
    keeper_.drop(*lease);
    if ((next && next->is_grant_of(*lease)) || !keeper_.others_of(*lease).empty()) {
      if (was_held) telemetry_->notify(&Observer::on_released, ReleasedEvent{telemetry_->about(*lease)});
      return;
    }
    if (lease->detached || (!was_held && lease->phase.load() == LeaseState::Phase::released)) return;
    const Request release{
        .verb = Verb::release, .key = {lease->key}, .owner = {lease->owner}, .token = lease->token};
    const Instant until = std::min(deadline, clamped_add(now, longest_pending_release));
    release_again(*lease, now);
    std::optional<Released> found;
    if (was_held && now < deadline && !keeper_.on_deadline_thread()) {
      const auto reply = send(release, until);
      if (reply)
        found = core::released_by(*reply, {lease->owner}, lease->token);
      else
        pending_release(release, now, lease->ttl(), &reply.error());
    } else {
      pending_release(release, now, lease->ttl());
    }
    if (was_held) telemetry_->notify(&Observer::on_released, ReleasedEvent{telemetry_->about(*lease), found});
  } catch (...) {  // out of memory or threads: the lease expires
  }
}

std::shared_ptr<ClientState> ClientState::in(std::string_view table) const {
  const std::lock_guard lock(tables_mutex_);
  const auto known = tables_.find(table);
  return known == tables_.end() ? nullptr : known->second;
}

std::shared_ptr<ClientState> ClientState::keep(std::string_view table, std::shared_ptr<ClientState> opened) {
  const std::lock_guard lock(tables_mutex_);
  return tables_.emplace(table, std::move(opened)).first->second;
}

}  // namespace holdfast
