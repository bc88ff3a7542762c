// SPDX-License-Identifier: Apache-2.0
// client_access.h - how src/jobs uses a client: leases that were granted by claiming a job, and the store.
#pragma once
#include <memory>
#include <string>
#include <string_view>

#include "client/telemetry.h"
#include "core/terms.h"
#include "holdfast/client.h"
#include "holdfast/lease.h"
#include "holdfast/spi/store.h"

namespace holdfast {

struct Grant {
  std::string key, owner;
  Token token{};
  Millis ttl{};
  Instant sent{};                             // read before the request was sent
  Millis remaining{};                         // as the store replied
  bool keep = true;                           // renewed by the client's keeper
  std::shared_ptr<ClaimRenewals> claim = {};  // the claim of a job, which is not a lease of the store
};

// Gives src/jobs access to the private state of clients and leases.
struct ClientAccess {
  static std::string new_owner(const Client& client);
  static const std::shared_ptr<Store>& store(const Client& client);
  static const std::shared_ptr<Telemetry>& telemetry(const Client& client);
  // How long a place in a queue lasts at most, for clients with the options of this one.
  static Millis longest_place(const Client& client);
  static Status check_not_forked(const Client& client);
  static Status check_ready(const Client& client);  // also opens the store
  static bool forked(const Client& client) noexcept;

  // Client::try_acquire without the client's defaults, which are for calls by hand.
  static Result<Lease> acquire(const Client& client, std::string_view key, const core::Terms& terms);

  // In a forked child: leaks a reference to state that the client's threads may have been using.
  static void leak(const Client& client, std::shared_ptr<void> reference) noexcept;

  // Starts the keeper's threads; call it before something is claimed.  Throws NoThread.
  static void get_ready(const Client& client);

  // Makes the grant a lease like any other: watched, and renewed if `keep` is set.
  static Lease adopt(const Client& client, const Grant& grant);

  // The number of threads of this process that wait for `key`, for tests.  The store knows only the first of
  // them.
  static std::size_t waiters(const Client& client, std::string_view key);

  // -- for leases that src/jobs itself releases

  // The lease is not held from now on; no request is sent.  False: it was not held any more.
  static bool disown(const Lease& lease);
};

}  // namespace holdfast
