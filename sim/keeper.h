// SPDX-License-Identifier: Apache-2.0
// keeper.h - core::Keeping on virtual time: the renewal thread and the deadline thread of src/client, each a
// task.
#pragma once
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "core/batching.h"
#include "core/keeping.h"
#include "holdfast/lease.h"
#include "sim/doze.h"
#include "sim/lease.h"
#include "sim/line.h"

namespace holdfast::sim {

class Process;

class Keeper {
 public:
  Keeper(Process& process, Line& line);

  // Both tasks.
  void start();

  void keep(const std::shared_ptr<Lease>& lease, const core::Belief& belief);
  void drop(const Lease& lease);
  // A renewal was granted.  False: too late.
  bool renewed(Lease& lease, Instant sent, Millis remaining);
  bool renewed_by_hand(Lease& lease, Millis ttl, Instant sent, Millis remaining);
  bool extended_by_hand(Lease& lease, Millis more, Instant sent, Millis remaining);
  void lose(const std::shared_ptr<Lease>& lease, Loss reason);
  // Sends that at that moment and again until it gets through, or until `give_up`.
  void pending_release(const Message& message, Instant at, Instant give_up);

  bool idle() const { return pending_releases_.empty() && leases_.empty(); }

 private:
  struct PendingRelease {
    Message message;
    Instant give_up;
    bool again = false;
  };
  using Leases = std::vector<std::shared_ptr<Lease>>;

  Task<> renewal_task();
  Task<> deadline_task();
  Task<> renew(Leases due);
  Task<> send_pending_releases(Instant now);
  void settle(const std::shared_ptr<Lease>& lease, const Reply& reply, Instant sent);
  void not_renewed(const std::shared_ptr<Lease>& lease);
  bool believe(Lease& lease, std::optional<Instant> deadline);
  void ring_if_needed();

  Process& process_;
  RunContext& context_;
  Line& line_;
  core::Keeping keeping_;
  core::BatchSize renewals_at_once_{2}, releases_at_once_{2};  // few here keep more
  std::map<core::Keeping::Id, std::shared_ptr<Lease>> leases_;
  core::Keeping::Id last_id_ = 0;
  std::multimap<Instant, PendingRelease> pending_releases_;
  Doze renewal_doze_, deadline_doze_;
  bool in_flight_ = false;
  Task<> renewal_task_, deadline_task_;
};

}  // namespace holdfast::sim
