// SPDX-License-Identifier: Apache-2.0
#include "client/adoption.h"

#include "client/client_state.h"

namespace holdfast {

std::string Adoption::new_holder(const Client& client) { return client.let_.state->new_holder(); }

const std::shared_ptr<Origin>& Adoption::origin(const Client& client) { return client.let_.state->origin(); }

const ClientOptions& Adoption::options(const Client& client) { return client.let_.state->options(); }

Status Adoption::check_not_forked(const Client& client) { return client.let_.state->check_not_forked(); }

bool Adoption::forked(const Client& client) noexcept { return client.let_.state->forked(); }

Result<Lease> Adoption::acquire(const Client& client, std::string_view key, const core::Terms& terms) {
  auto hold = client.let_.state->acquire(key, terms);
  if (!hold) return std::move(hold).error();
  return Lease(*std::move(hold), client.let_.state);
}

void Adoption::leak(const Client& client, std::shared_ptr<void> reference) noexcept {
  client.let_.state->leak(std::move(reference));
}

std::size_t Adoption::waiters(const Client& client, std::string_view key) {
  return client.let_.state->waiters(key);
}

void Adoption::get_ready(const Client& client) { client.let_.state->keeper().get_ready(); }

Lease Adoption::adopt(const Client& client, const Grant& grant) {
  ClientState& state = *client.let_.state;
  get_ready(client);
  const auto hold = std::make_shared<Hold>(grant.key, grant.holder, grant.token, 1);
  hold->detached = grant.claim;
  const core::KeepPlan plan{.ttl = grant.ttl,
                            .keep = grant.keep && !grant.claim,
                            .margin = state.options().margin,
                            .resolution = state.traits().resolution};
  state.keeper().keep(hold, core::Belief(plan, grant.sent, grant.remaining));
  return Lease(hold, client.let_.state);
}

bool Adoption::renewed(const Lease& lease, Instant sent, Millis life) {
  return lease.client_->keeper().renewed(*lease.hold_, lease.hold_->ttl(), sent, life);
}

void Adoption::lose(const Lease& lease, Lost lost) {
  lease.client_->keeper().lose(lease.hold_, std::move(lost));
}

bool Adoption::disown(const Lease& lease) {
  const bool was_held = lease.hold_->release();
  lease.client_->keeper().drop(*lease.hold_);
  return was_held;
}

}  // namespace holdfast
