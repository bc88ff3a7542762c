// SPDX-License-Identifier: Apache-2.0
// client_access.h - a lease that was granted to us in another way than by Client::acquire: as a part of
// claiming a job.
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
  Instant sent{};      // read before it was asked for
  Millis remaining{};  // as the store said
  bool keep = true;    // renewed by the client's keeper
  bool claim = false;  // the store has no such lease: nothing is ever sent for it
};

// The way of src/jobs into what a client and its leases share.
struct ClientAccess {
  static std::string new_owner(const Client& client);
  static const std::shared_ptr<Store>& store(const Client& client);
  static Telemetry& telemetry(const Client& client);
  // How long a place in a queue lasts at most, for clients with the options of this one.
  static Millis longest_place(const Client& client);
  static Status check_not_forked(const Client& client);
  static Status check_ready(const Client& client);  // and opened
  static bool forked(const Client& client) noexcept;

  // Client::try_acquire, whatever the client's defaults are: those are for who acquires by hand.
  static Result<Lease> acquire(const Client& client, std::string_view key, const core::Terms& terms);

  // In a child after fork(): forgets what the client's threads may have been at.
  static void leak(const Client& client, std::shared_ptr<void> reference) noexcept;

  // Starts what watches leases: before something is claimed.  Throws NoThread.
  static void get_ready(const Client& client);

  // From now on a lease like any other: watched, and renewed if it is to be kept.
  static Lease adopt(const Client& client, const Grant& grant);

  // How many threads of this process wait for `key`, also those behind the first of them, of whom the store
  // knows nothing: for tests.
  static std::size_t waiters(const Client& client, std::string_view key);

  // -- for what is renewed and released by somebody else

  // True: it is ours until then; false: too late.
  static bool renewed(const Lease& lease, Instant sent, Millis life);
  static void lose(const Lease& lease, Lost lost);
  // Not held from now on; nothing is sent.  False: it was not held any more.
  static bool disown(const Lease& lease);
};

}  // namespace holdfast
