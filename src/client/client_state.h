// SPDX-License-Identifier: Apache-2.0
// client_state.h - what a client, its copies and its leases share.
#pragma once
#include <atomic>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "base/process.h"
#include "base/random.h"
#include "client/connection.h"
#include "client/keeper.h"
#include "client/lease_state.h"
#include "client/telemetry.h"
#include "client/waiting.h"
#include "client/why_lost.h"
#include "core/terms.h"
#include "holdfast/options.h"
#include "holdfast/spi/store.h"
#include "stores/decorators/batched.h"

namespace holdfast {

// What all callers travel on.  The keeper's thread, which may outlive the client, has a reference too.
struct SharedConnection {
  SharedConnection(std::shared_ptr<Store> store, const std::shared_ptr<Telemetry>& telemetry,
                   std::size_t batch_limit)
      : connection(std::move(store), telemetry),
        batched(connection, batch_limit),
        observed(batched, telemetry->observes() ? [telemetry] { telemetry->report_calls(); }
                                                : std::function<void()>()) {}
  Connection connection;
  Batched batched;
  ObservedConnection observed;
};

class ClientState {
 public:
  ClientState(std::shared_ptr<Store> store, ClientOptions options);

  // Connects, and learns what the store can do, unless that was done before.
  Status open();

  Result<std::shared_ptr<LeaseState>> acquire(std::string_view key, const AcquireOptions& options);
  // Whatever the defaults are.
  Result<std::shared_ptr<LeaseState>> acquire(std::string_view key, const core::Terms& terms);
  Status renew(const std::shared_ptr<LeaseState>& lease, Millis ttl, bool extend);
  Result<Released> release(const std::shared_ptr<LeaseState>& lease);
  // The destructor's: the same, but does no I/O for a lease that is lost, nor on a thread of ours.
  void let_go(const std::shared_ptr<LeaseState>& lease) noexcept;
  // Not held by that object any more, and nothing is said to the store.
  void forget(const std::shared_ptr<LeaseState>& lease) noexcept;

  // One request of a caller's, under the limit of one attempt.
  Result<Reply> send(const Request& request, Instant until);

  // All callers share it.
  StoreConnection& connection() noexcept { return shared_->observed; }

  // What the log says about that grant, if anything.
  void look_up(Lost& lost, const Request& of) { holdfast::look_up(lost, connection(), of); }

  // The client of another table that was opened before; null: none was.
  std::shared_ptr<ClientState> in(std::string_view table) const;
  // Remembers it, and returns it; or one that somebody else was faster to open.
  std::shared_ptr<ClientState> keep(std::string_view table, std::shared_ptr<ClientState> opened);

  // A name that is new for each acquisition.
  std::string new_owner() { return owner_start_ + serial_.next(); }

  const std::shared_ptr<Store>& store() const noexcept { return store_; }
  const ClientOptions& options() const noexcept { return options_; }
  Keeper& keeper() noexcept { return keeper_; }
  Telemetry& telemetry() noexcept { return *telemetry_; }
  std::size_t waiters(std::string_view key) const { return waiting_.waiters(key); }
  const Traits& traits() const noexcept { return traits_; }

  bool forked() const noexcept { return page_.in_child(); }
  Status check_not_forked() const;
  // Neither forked nor yet to be opened.
  Status check_ready();
  // In a child: forget a reference without counting it down, which could touch what only the parent has.
  template <class T>
  void leak(std::shared_ptr<T> reference) noexcept {
    if (!abandoned_.exchange(true)) store_->abandon();
    new (std::nothrow) std::shared_ptr<T>(std::move(reference));
  }

 private:
  friend class Attempt;
  Result<Traits> examine(Instant until);
  Result<std::shared_ptr<LeaseState>> attempt(Key key, const std::string& owner, const core::Terms& terms);
  Result<Released> send_release(const std::shared_ptr<LeaseState>& lease, bool was_held);
  // `failed`: why it could not be sent at once.
  void pending_release(const Request& release, Instant at, Millis ttl, const Error* failed = nullptr);
  void pending_release(Keeper::PendingReleases::node_type release, Instant at, Millis ttl);
  void release_again(const LeaseState& lease, Instant now);

  const ForkPage page_;
  const std::shared_ptr<Store> store_;
  const ClientOptions options_;
  // Host, process, and the first half of the guid, which is the client: so a store can tell from the name
  // whose process it is.  Made once: what does not change need not be asked of the kernel for each lease.
  const std::string owner_start_;
  Serial serial_;
  const std::shared_ptr<Telemetry> telemetry_;
  const std::shared_ptr<SharedConnection> shared_;
  std::mutex open_mutex_;
  std::condition_variable open_ended_;
  bool opening_ = false;
  std::atomic<bool> opened_ = false;
  Traits traits_;  // not changed any more once opened
  Waiting waiting_;
  Keeper keeper_;
  std::atomic<bool> abandoned_ = false;
  mutable std::mutex tables_mutex_;
  std::map<std::string, std::shared_ptr<ClientState>, std::less<>> tables_;
};

}  // namespace holdfast
