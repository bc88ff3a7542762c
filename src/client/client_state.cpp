// SPDX-License-Identifier: Apache-2.0
#include "client/client_state.h"

#include <system_error>

#include "base/host.h"
#include "base/text.h"
#include "client/attempt.h"
#include "client/tell.h"
#include "core/check.h"
#include "core/deadline.h"
#include "core/verdicts.h"

namespace holdfast {
namespace {

using namespace std::chrono_literals;

constexpr Millis longest_goodbye = 1s;

}  // namespace

ClientState::ClientState(std::shared_ptr<Origin> origin, ClientOptions options)
    : origin_(std::move(origin)),
      options_(std::move(options)),
      holder_start_(holder_name(origin_->client())),
      shared_(std::make_shared<SharedConnection>(origin_, options_.batch_limit)),
      batched_(shared_->batched),
      waiting_([this] { return batched_.bell(); }),
      keeper_(origin_, std::shared_ptr<Store>(shared_, &batched_), options_, waiting_.heir()) {}

Status ClientState::open() {
  auto traits = batched_.examine(after(BootClock::now(), options_.connect_wait));
  if (!traits) return std::move(traits).error();
  traits_ = *std::move(traits);
  for (const Finding& finding : traits_.findings) {
    if (finding.told) tell(options_, finding, origin_->name());
  }
  if (!traits_.tidies) keeper_.purge_every(options_.purge_every);
  return ok();
}

Status ClientState::check_not_forked() const {
  if (!forked()) return ok();
  return Error{Errc::forked, "this process is a child of the one that opened the store: open it anew here"};
}

Result<Reply> ClientState::send(const Request& request, Instant until) {
  Reply reply;
  Status status = batched_.apply({&request, 1}, {&reply, 1}, until);
  if (!status) return std::move(status).error();
  if (reply.error) return *std::move(reply.error);
  return reply;
}

Result<std::shared_ptr<Hold>> ClientState::acquire(std::string_view key, const AcquireOptions& options) {
  if (Status s = check_not_forked(); !s) return std::move(s).error();
  if (Status s = core::check_key(key); !s) return std::move(s).error();
  return acquire(key, core::settle(options, options_.defaults, options_.margin));
}

Result<std::shared_ptr<Hold>> ClientState::acquire(std::string_view key, const core::Terms& terms) {
  if (Status s = check_not_forked(); !s) return std::move(s).error();
  if (Status s = core::check_key(key); !s) return std::move(s).error();
  if (Status s = core::check_terms(terms, options_.margin); !s) return std::move(s).error();
  try {
    keeper_.get_ready();  // before anything is asked for: a lease that nobody watches is worth nothing
    return Attempt(*this, key, terms).run();
  } catch (const std::system_error& e) {  // no descriptor or no thread to be had
    return Error{Errc::unavailable, "cannot acquire " + printable(key) + ": " + e.what()};
  }
}

Status ClientState::renew(const std::shared_ptr<Hold>& hold, Millis ttl, bool extend) {
  if (Status s = check_not_forked(); !s) return s;
  const auto gone = [&] {
    const std::lock_guard lock(hold->mutex);
    return Error{.code = Errc::lost,
                 .detail = "the lease on " + printable(hold->key) + " is lost: " + hold->lost.detail,
                 .loss = hold->lost.reason};
  };
  if (!hold->held()) return gone();
  const Instant sent = BootClock::now();
  const Instant until = std::min(hold->believed_until(), after(sent, core::attempt_limit(hold->ttl())));
  const auto reply = send({.verb = Verb::renew,
                           .key = {hold->key},
                           .holder = {hold->holder},
                           .token = hold->token,
                           .ttl = ttl,
                           .extend = extend},
                          until);
  if (!reply) return reply.error();
  if (reply->verdict == Verdict::granted) {
    const bool in_time = extend ? keeper_.extended(*hold, ttl, sent, reply->remaining)
                                : keeper_.renewed(*hold, ttl, sent, reply->remaining);
    if (in_time) return ok();
    return gone();
  }
  keeper_.lose(hold, why_lost(batched_, *hold, *reply, Instant::max()));
  return gone();
}

Result<Released> ClientState::release(const std::shared_ptr<Hold>& hold) {
  if (Status s = check_not_forked(); !s) return std::move(s).error();
  const bool was_held = hold->release();  // from here on it dies by itself
  keeper_.drop(*hold);
  if (!was_held && hold->phase.load() == Hold::Phase::released) return Released::already_released;
  const Instant now = BootClock::now();
  const Request release{
      .verb = Verb::release, .key = {hold->key}, .holder = {hold->holder}, .token = hold->token};
  const auto reply = send(release, after(now, core::attempt_limit(hold->ttl())));
  release_again(*hold, now);
  if (!reply) {
    goodbye(release, now, hold->ttl());
    return reply.error();
  }
  if (was_held && reply->verdict != Verdict::released) {  // lost behind our back
    Lost lost = why_lost(batched_, *hold, *reply, Instant::max());
    const bool broken = lost.reason == Loss::broken;
    const std::lock_guard lock(hold->mutex);
    hold->lost = std::move(lost);
    if (broken) return Released::broken;
  }
  return core::released_by(*reply, {hold->holder}, hold->token);
}

// Others wait for it: the keeper goes on trying until the lease has run out by itself, or for a minute.
void ClientState::goodbye(const Request& release, Instant at, Millis ttl) {
  goodbye(Keeper::room_for(release), at, ttl);
}

void ClientState::goodbye(Keeper::Errands::node_type release, Instant at, Millis ttl) {
  Keeper::Errand& errand = release.mapped();
  errand.give_up = after(std::max(at, errand.again), std::min(ttl, Millis(1min)));
  keeper_.errand(std::move(release), at);
}

// Without the token: what an acquire that comes late is granted has another one.
void ClientState::release_again(const Hold& hold, Instant now) {
  if (!hold.unclear_until || *hold.unclear_until < now) return;
  const Request release{.verb = Verb::release, .key = {hold.key}, .holder = {hold.holder}};
  goodbye(release, *hold.unclear_until + 1ms, hold.ttl());
}

void ClientState::let_go(const std::shared_ptr<Hold>& hold) noexcept {
  try {
    const Instant now = BootClock::now();
    const Instant deadline = hold->believed_until();
    const bool was_held = hold->release();
    keeper_.drop(*hold);
    if (hold->detached || (!was_held && hold->phase.load() == Hold::Phase::released)) return;
    const Request release{
        .verb = Verb::release, .key = {hold->key}, .holder = {hold->holder}, .token = hold->token};
    const Instant until = std::min(deadline, after(now, longest_goodbye));
    release_again(*hold, now);
    if (was_held && now < deadline && !keeper_.on_alarm_thread() && send(release, until)) return;
    goodbye(release, now, hold->ttl());
  } catch (...) {  // out of memory or threads: the store forgets the lease when its ttl runs out
  }
}

void ClientState::forget(const std::shared_ptr<Hold>& hold) noexcept {
  try {
    hold->release();
    keeper_.drop(*hold);
  } catch (...) {  // the keeper goes on renewing what is held anyway
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
