// SPDX-License-Identifier: Apache-2.0
// client_state.h - the state that a client, its copies and its leases share.
#pragma once
#include <atomic>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "base/process.h"
#include "base/random.h"
#include "base/sync.h"
#include "client/connection.h"
#include "client/keeper.h"
#include "client/lease_state.h"
#include "client/queries.h"
#include "client/telemetry.h"
#include "client/waiting.h"
#include "core/terms.h"
#include "holdfast/options.h"
#include "holdfast/spi/store.h"
#include "stores/decorators/batched.h"

namespace holdfast {

// The connection that all callers share.  The keeper's threads, which may outlive the client, own it too.
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

  // Connects and reads the store's traits, unless that was done before.
  Status open();

  Result<std::shared_ptr<LeaseState>> acquire(std::string_view key, const AcquireOptions& options);
  // Ignores the client's defaults.
  Result<std::shared_ptr<LeaseState>> acquire(std::string_view key, const core::Terms& terms);
  Status renew(const std::shared_ptr<LeaseState>& lease, Millis ttl, bool extend);
  Result<Released> release(const std::shared_ptr<LeaseState>& lease);
  // The same for destructors, but without I/O for a lease that is lost, and without I/O on the deadline
  // thread.  If `next`, or another lease of this client, is of the same grant, nothing is sent: the last one
  // releases it.
  void let_go(const std::shared_ptr<LeaseState>& lease, const LeaseState* next = nullptr) noexcept;

  // Sends one request of a caller.
  Result<Reply> send(const Request& request, Instant until);

  // The connection that all callers share.
  StoreConnection& connection() noexcept { return shared_->observed; }

  void read_loss_reason(Lost& lost, const Request& of) { holdfast::read_loss_reason(lost, connection(), of); }

  // The client of another table, if it was opened before; else null.
  std::shared_ptr<ClientState> in(std::string_view table) const;
  // Remembers `opened` and returns it; or returns the one that another thread has opened first.
  std::shared_ptr<ClientState> keep(std::string_view table, std::shared_ptr<ClientState> opened);

  // A new name for each acquisition.
  std::string new_owner() { return owner_start_ + serial_.next(); }

  const std::shared_ptr<Store>& store() const noexcept { return store_; }
  const ClientOptions& options() const noexcept { return options_; }
  Keeper& keeper() noexcept { return keeper_; }
  Telemetry& telemetry() noexcept { return *telemetry_; }
  const std::shared_ptr<Telemetry>& shared_telemetry() const noexcept { return telemetry_; }
  std::size_t waiters(std::string_view key) const { return waiting_.waiters(key); }
  const Traits& traits() const noexcept { return traits_; }

  bool forked() const noexcept { return page_.in_child(); }
  Status check_not_forked() const;
  // Fails in a forked child; opens the store if that was not done before.
  Status check_ready();
  // In a forked child: leaks a reference, because counting it down could destroy objects that belong to the
  // parent.
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
  // `failed` is the error of the first attempt, if there was one.
  void pending_release(const Request& release, Instant at, Millis ttl, const Error* failed = nullptr);
  void pending_release(Keeper::PendingReleases::node_type release, Instant at, Millis ttl);
  void release_again(const LeaseState& lease, Instant now);

  const ForkPage page_;
  const std::shared_ptr<Store> store_;
  const ClientOptions options_;
  // Host, process, and the first half of the guid, which identifies the client: so a store can derive the
  // client from the owner's name.  Made once, because it needs system calls.
  const std::string owner_start_;
  Serial serial_;
  const std::shared_ptr<Telemetry> telemetry_;
  const std::shared_ptr<SharedConnection> shared_;
  Mutex open_mutex_;
  Condition open_ended_;
  bool opening_ = false;
  std::atomic<bool> opened_ = false;
  Traits traits_;  // constant once opened_ is true
  Waiting waiting_;
  Keeper keeper_;
  std::atomic<bool> abandoned_ = false;
  mutable Mutex tables_mutex_;
  std::map<std::string, std::shared_ptr<ClientState>, std::less<>> tables_;
};

}  // namespace holdfast
