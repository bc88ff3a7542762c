// SPDX-License-Identifier: Apache-2.0
#include "holdfast/client.h"

#include <algorithm>
#include <system_error>
#include <vector>

#include "base/text.h"
#include "base/wakeup.h"
#include "client/client_state.h"
#include "client/queries.h"
#include "core/check.h"
#include "core/timing.h"
#include "core/verdicts.h"
#include "holdfast/spi/store.h"

namespace holdfast {
namespace {

using namespace std::chrono_literals;

constexpr Millis one_call = 2s;
constexpr Millis candidate_pause = 1s;  // before a candidate retries a store that cannot be reached
constexpr std::size_t one_page = 100;

Instant soon() { return clamped_add(BootClock::now(), one_call); }

Status check_names(std::string_view key, OwnerView owner) {
  if (Status s = check_key(key); !s) return s;
  return check_owner(owner.text);
}

}  // namespace

void leak_if_forked(std::shared_ptr<ClientState>& state) noexcept {
  if (!state->forked()) return;
  ClientState& client = *state;
  client.leak(std::move(state));
}

Client::Client(std::shared_ptr<ClientState> state) noexcept : state_(std::move(state)) {}

Client::Client(std::shared_ptr<Store> store, ClientOptions options)
    : Client(try_make(std::move(store), std::move(options)).value()) {}

Result<Client> Client::try_make(std::shared_ptr<Store> store, ClientOptions options) {
  if (options.margin && *options.margin < 0ms)
    return Error{Errc::invalid, "the margin is negative; give 0 or more"};
  if (options.connect_wait <= 0ms)
    return Error{Errc::invalid, "connect_wait is not above 0; give the longest time that opening may take"};
  if (options.place < 30ms || options.place > 24h)
    return Error{Errc::invalid, "place, the time that a place in the queue lasts, must be from 30ms to 1d"};
  if (options.purge_every <= 0ms)
    return Error{Errc::invalid, "purge_every is not above 0; give a time, or `never`"};
  if (options.batch_limit == 0) return Error{Errc::invalid, "batch_limit is 0; give 1 or more"};
  try {
    auto state = std::make_shared<ClientState>(std::move(store), std::move(options));
    const bool lazy = state->options().connect == Connect::lazy;
    if (Status s = lazy ? Status{} : state->open(); !s) return std::move(s).error();
    return Client(std::move(state));
  } catch (const std::system_error& e) {
    return Error{Errc::unavailable, std::string("cannot make a client: ") + e.what()};
  }
}

Result<Lease> Client::try_acquire(std::string_view key, AcquireOptions options) {
  auto lease = state_->acquire(key, options);
  if (!lease) return std::move(lease).error();
  return Lease(*std::move(lease), state_.shared());
}

Result<Lease> Client::acquire_to_lead(std::string_view key, AcquireOptions options,
                                      const std::stop_token& stop) {
  options.wait = forever;
  options.stop = stop;
  try {
    Wakeup wakeup;
    const std::stop_callback wake(stop, [&] { wakeup.ring(); });
    while (true) {
      auto lease = try_acquire(key, options);
      if (lease || !lease.error().retryable()) return lease;
      if (!stop.stop_requested()) wakeup.wait(clamped_add(BootClock::now(), candidate_pause));
      if (stop.stop_requested())
        return Error{Errc::stopped, "asked to stop while waiting to lead " + printable(key)};
    }
  } catch (const std::system_error& e) {  // out of descriptors
    return Error{Errc::unavailable, "cannot lead " + printable(key) + ": " + e.what()};
  }
}

Result<Millis> Client::renew_by(std::string_view key, OwnerView owner, Millis ttl, bool extend) {
  if (Status s = state_->check_ready(); !s) return std::move(s).error();
  if (Status s = check_names(key, owner); !s) return std::move(s).error();
  if (Status s = extend ? core::check_extension(ttl) : check_ttl(ttl); !s) return std::move(s).error();
  const auto reply =
      state_->send({.verb = Verb::renew, .key = {key}, .owner = owner, .ttl = ttl, .extend = extend}, soon());
  if (!reply) return reply.error();
  if (reply->verdict == Verdict::granted) return core::reported(reply->remaining);
  const bool taken = reply->remaining > 0ms;
  Lost lost{taken ? Loss::stolen : Loss::gone,
            taken ? "it is held by " + printable(reply->owner) : "nobody holds it"};
  // If the last grant was this owner's, the log has who broke it or took it over.
  state_->read_loss_reason(lost, {.verb = Verb::renew, .key = {key}, .owner = owner, .token = reply->token});
  return Error{.code = Errc::lost,
               .detail = printable(owner.text) + " does not hold " + printable(key) + ": " + lost.detail,
               .owner = reply->owner,
               .remaining = core::reported(reply->remaining),
               .loss = lost.reason};
}

Result<Millis> Client::try_renew(std::string_view key, OwnerView owner, Ttl ttl) {
  return renew_by(key, owner, ttl, false);
}

Result<Millis> Client::try_extend_by(std::string_view key, OwnerView owner, Millis more) {
  return renew_by(key, owner, more, true);
}

Result<Released> Client::try_release(std::string_view key, OwnerView owner) {
  if (Status s = state_->check_ready(); !s) return std::move(s).error();
  if (Status s = check_names(key, owner); !s) return std::move(s).error();
  const auto reply = state_->send({.verb = Verb::release, .key = {key}, .owner = owner}, soon());
  if (!reply) return reply.error();
  const Released released = core::released_by(*reply, owner, no_token);
  if (released == Released::already_released) {
    Lost lost;
    state_->read_loss_reason(lost,
                             {.verb = Verb::release, .key = {key}, .owner = owner, .token = reply->token});
    if (lost.reason == Loss::broken) return Released::broken;
  }
  return released;
}

Result<LeaseRow> Client::try_read(std::string_view key) {
  if (Status s = state_->check_ready(); !s) return std::move(s).error();
  if (Status s = check_key(key); !s) return std::move(s).error();
  return read_lease(state_->connection(), {key}, soon());
}

Result<bool> Client::try_available(std::string_view key, OwnerView owner) {
  const auto row = try_read(key);
  if (!row) return row.error();
  if (row->remaining == 0ms) return row->waiting == 0;
  const Owner& by_default = state_->options().defaults.owner;
  const std::string name = owner.text.empty() && by_default ? by_default() : std::string(owner.text);
  return !name.empty() && row->owner == name;
}

Result<std::size_t> Client::try_release_all(OwnerView owner) {
  if (Status s = state_->check_ready(); !s) return std::move(s).error();
  if (Status s = check_owner(owner.text); !s) return std::move(s).error();
  std::size_t released = 0;
  std::string after;
  while (true) {
    const auto page = state_->connection().list({.after = after, .free = false, .limit = one_page}, soon());
    if (!page) return page.error();
    // By token: a lease that is acquired meanwhile under the same name stays.
    std::vector<Request> requests;
    for (const LeaseRow& row : page->leases) {
      if (row.owner == owner.text && row.remaining > 0ms)
        requests.push_back({.verb = Verb::release, .key = {row.key}, .owner = owner, .token = row.token});
    }
    std::vector<Reply> replies(requests.size());
    if (!requests.empty()) {
      if (Status s = state_->connection().apply(requests, replies, soon()); !s) return std::move(s).error();
    }
    for (Reply& reply : replies)
      if (reply.error) return *std::move(reply.error);
    released += static_cast<std::size_t>(std::count_if(
        replies.begin(), replies.end(), [](const Reply& r) { return r.verdict == Verdict::released; }));
    if (page->leases.size() < one_page) return released;
    after = page->leases.back().key;
  }
}

Result<Client> Client::try_in(std::string_view table) const {
  if (Status s = state_->check_not_forked(); !s) return std::move(s).error();
  if (auto known = state_->in(table)) return Client(std::move(known));
  auto store = state_->store()->in(table);
  if (!store) return std::move(store).error();
  auto opened = try_make(*std::move(store), state_->options());
  if (!opened) return opened;
  return Client(state_->keep(table, opened->state_.shared()));
}

std::string Client::store_name() const { return state_->store()->name(); }

}  // namespace holdfast
