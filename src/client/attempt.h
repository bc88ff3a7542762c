// SPDX-License-Identifier: Apache-2.0
// attempt.h - one call of acquire: drives core::Acquiring with requests and sleeps.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/random.h"
#include "client/client_state.h"
#include "core/acquiring.h"
#include "core/terms.h"

namespace holdfast {

class Attempt {
 public:
  // `owner` is the name in `terms`, or a new one.  All arguments must outlive this.
  Attempt(ClientState& client, std::string_view key, const std::string& owner, const core::Terms& terms);

  Result<std::shared_ptr<LeaseState>> run();

 private:
  core::AcquirePlan plan() const;
  Result<std::shared_ptr<LeaseState>> take_turn();
  std::optional<Result<std::shared_ptr<LeaseState>>> wait_for_turn();
  Result<std::shared_ptr<LeaseState>> drive();
  void send(const core::Acquiring::Send& step);
  void log_failure(const Error& error);
  bool ask_as_owner(Instant until);
  std::shared_ptr<LeaseState> grant(std::optional<Instant> unclear_until = {});
  Error give_up(const core::Acquiring::Done& done);
  void tidy(const core::Acquiring::Done& done);
  // The owner for giving a lease back.  Other processes may use the same name of the user's, and we must not
  // release what they hold; so with such a name it is empty.
  OwnerView given_back() const { return {terms_.owner ? std::string_view() : std::string_view(owner_)}; }
  Error busy(Errc code, const Reply& reply) const;
  bool stopped() const { return terms_.stop.stop_requested(); }

  ClientState& client_;
  const std::string_view key_;
  const core::Terms& terms_;
  const std::string& owner_;
  const Instant start_;
  const Instant give_up_;
  core::Acquiring acquiring_;
  Keeper::PendingReleases::node_type room_;  // for a release of what may have been granted
  std::optional<Waiting::Waiter> waiter_;    // if it waits in the queue
  Jitter jitter_;
  Instant sent_{};
  Reply reply_{};
  std::optional<Error> failure_;  // of the last send
  std::optional<Instant>
      unclear_until_;   // a request without a reply may have been granted, or may be until then
  std::string logged_;  // the last failure that was logged
};

}  // namespace holdfast
