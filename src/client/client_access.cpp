// SPDX-License-Identifier: Apache-2.0
#include "client/client_access.h"

#include "client/client_state.h"
#include "core/acquiring.h"

namespace holdfast {

std::string ClientAccess::new_owner(const Client& client) { return client.state_->new_owner(); }

const std::shared_ptr<Store>& ClientAccess::store(const Client& client) { return client.state_->store(); }

const std::shared_ptr<Telemetry>& ClientAccess::telemetry(const Client& client) {
  return client.state_->shared_telemetry();
}

Millis ClientAccess::longest_place(const Client& client) {
  return core::longest_place(client.state_->options().place);
}

Status ClientAccess::check_not_forked(const Client& client) { return client.state_->check_not_forked(); }

Status ClientAccess::check_ready(const Client& client) { return client.state_->check_ready(); }

bool ClientAccess::forked(const Client& client) noexcept { return client.state_->forked(); }

Result<Lease> ClientAccess::acquire(const Client& client, std::string_view key, const core::Terms& terms) {
  auto lease = client.state_->acquire(key, terms);
  if (!lease) return std::move(lease).error();
  return Lease(*std::move(lease), client.state_.shared());
}

void ClientAccess::leak(const Client& client, std::shared_ptr<void> reference) noexcept {
  client.state_->leak(std::move(reference));
}

std::size_t ClientAccess::waiters(const Client& client, std::string_view key) {
  return client.state_->waiters(key);
}

void ClientAccess::get_ready(const Client& client) { client.state_->keeper().get_ready(); }

Lease ClientAccess::adopt(const Client& client, const Grant& grant) {
  ClientState& state = *client.state_;
  get_ready(client);
  const bool opened =
      state.open().has_value();  // a lazy client may not be open yet, and its store has just answered
  const auto lease = std::make_shared<LeaseState>(grant.key, grant.owner, grant.token, 1);
  lease->detached = grant.claim != nullptr;
  lease->claim = grant.claim;
  const core::KeepPlan plan{.ttl = grant.ttl,
                            .keep = grant.keep,
                            .margin = state.options().margin,
                            .resolution = opened ? state.traits().resolution : Millis::zero()};
  state.keeper().keep(lease, core::Belief(plan, grant.sent, grant.remaining));
  if (!grant.claim)
    state.telemetry().notify(&Observer::on_acquired, AcquiredEvent{state.telemetry().about(*lease)});
  return Lease(lease, client.state_.shared());
}

bool ClientAccess::disown(const Lease& lease) {
  const bool was_held = lease.state_->release();
  lease.client_->keeper().drop(*lease.state_);
  Telemetry& telemetry = lease.client_->telemetry();
  if (was_held && !lease.state_->claim)
    telemetry.notify(&Observer::on_released, ReleasedEvent{telemetry.about(*lease.state_)});
  return was_held;
}

}  // namespace holdfast
