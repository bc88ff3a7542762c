// SPDX-License-Identifier: Apache-2.0
// process.h - a client of the store: its clock, its two connections, its keeper, its threads.
#pragma once
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "sim/beliefs.h"
#include "sim/gates.h"
#include "sim/keeper.h"
#include "sim/ledger.h"
#include "sim/line.h"

namespace holdfast::sim {

// What the parts of a world are to a process.
struct Surroundings {
  RunContext& context;
  Server& server;
  Network& network;
  Ledger& ledger;
  Beliefs& beliefs;
};

class Process {
 public:
  Process(Surroundings world, Timeline::Owner id);

  // Starts its keeper and its threads.
  void start(int threads);

  Task<Result<Reply>> send(Message message, Instant until);
  Task<Result<std::vector<Reply>>> renew(std::shared_ptr<Lease> lease, Millis ttl, bool extend);
  Task<> release(std::shared_ptr<Lease> lease);  // the caller's, which is told
  Task<> let_go(std::shared_ptr<Lease> lease);   // the destructor's, which tries harder

  // The keeper goes on trying from `at`, until the lease has run out by itself, or for a minute.
  void pending_release(const Message& release, Instant at, Millis ttl);

  // Looks at a lease as its holder would, and checks that what it sees is true.
  bool held(const Lease& lease);
  // The deadline task says so; checks that it is said in time, and not too early.
  void told_lost(const Lease& lease);
  // A release that leaves the queue is sent: nobody else of this process may need the place.
  void check_leaving(const Message& release, int others);
  void believes(Lease& lease, Instant deadline);
  void stops_believing(Lease& lease, Lease::Phase phase);

  Instant now() const { return clock_.at(context().now()); }
  Doze doze() { return Doze(context().timeline, id_, clock_); }
  Millis margin_of(Millis ttl) const;
  std::optional<Millis> margin() const;

  RunContext& context() const { return world_.context; }
  Ledger& ledger() const { return world_.ledger; }
  Timeline::Owner id() const { return id_; }
  Gates& gates() { return gates_; }
  Keeper& keeper() { return keeper_; }

  // For the world's checks.
  bool done() const;
  bool holds_something() const { return holding_ > 0; }
  bool waits_for_something() const { return !waits_.empty(); }
  // Since when its longest waiter in a queue waits.
  True waits_since() const;

  // A thread waits in a queue from here on, until destroyed.
  class InQueue {
   public:
    InQueue(Process& process, AttemptId attempt_id) : process_(process), attempt_id_(attempt_id) {
      process.waits_.emplace(attempt_id, process.context().now());
    }
    ~InQueue() { process_.waits_.erase(attempt_id_); }
    InQueue(const InQueue&) = delete;
    InQueue& operator=(const InQueue&) = delete;

   private:
    Process& process_;
    const AttemptId attempt_id_;
  };

 private:
  void release_again(const Lease& lease, Instant started);

  const Surroundings world_;
  const Timeline::Owner id_;
  const DriftingClock clock_;
  core::StoreOffset offset_;
  Line callers_, keepers_;
  Gates gates_;
  Keeper keeper_;
  int holding_ = 0;
  std::map<AttemptId, True> waits_;
  std::vector<Task<>> threads_;  // last: they use all the rest
};

}  // namespace holdfast::sim
