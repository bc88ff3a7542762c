// SPDX-License-Identifier: Apache-2.0
// process.h - a process that uses the library: its clock, its client, its threads.
#pragma once
#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "holdfast/client.h"
#include "holdfast/job_worker.h"
#include "sim/holdings.h"
#include "sim/labour.h"
#include "sim/ledger.h"
#include "sim/store.h"
#include "sim/wants.h"

namespace holdfast::sim {

// What the parts of a world are to a process.
struct Surroundings {
  RunContext& context;
  Server& server;
  Network& network;
  Ledger& ledger;
  Holdings& holdings;
  Labour& labour;
};

class Process {
 public:
  Process(Surroundings world, Timeline::Owner id);

  // Its main thread opens a client, starts `threads` others, and ends when they do.
  void start(int threads);
  // As kill -9, for everybody else: from here on nothing of it reaches the network.  What is left of it ends
  // by itself, unseen, so that its memory is freed.
  void kill();
  bool ended() const;  // none of its threads is left

  // One thread: acquires leases, holds them, gives them back, until the world closes.
  void work();

  RunContext& context() const { return world_.context; }
  Timeline::Owner id() const { return home_.process; }
  const std::shared_ptr<Mailbox>& mailbox() const { return store_->mailbox(); }

  // For the world's checks.
  bool done() const { return done_; }
  bool holds_something() const { return world_.holdings.anything_of(home_.process); }
  bool waits_for_something() const { return !waits_.empty(); }
  // Since when its longest waiter in a queue waits.
  True waits_since() const;
  std::size_t waiters(int key) const;
  bool waits_since_before(int key, Instant moment) const;
  // Since when none of its threads waits for that key.
  True left(int key) const;

 private:
  class Watch;
  class InQueue;
  void run(int threads);
  void use_client(int threads);
  void enqueue_jobs(const Jobs& jobs);
  void perform(JobContext& job);
  void note_job(const JobEvent& event);
  std::optional<Lease> acquire(const Wants& wants, AttemptId attempt_id);
  void hold(Lease& lease, Holdings::Holding& holding, Millis ttl);
  void renew_by_hand(Lease& lease, Millis ttl);
  void release(Lease& lease, Holdings::Holding& holding, bool detached);
  void check_duration(const Wants& wants, AttemptId attempt_id, Instant start);
  void note_failure(AttemptId attempt_id, const Wants& wants, const Error& error);
  void sleep(Instant until);
  Instant in(Micros least, Micros most);
  bool over() const;

  const Surroundings world_;
  const DriftingClock clock_;
  const Home home_;
  const std::shared_ptr<Watch> watch_;
  const std::shared_ptr<SimStore> store_;
  std::stop_source killed_;
  std::optional<Client> client_;
  bool done_ = false;
  struct Waiting {
    True since;
    int key;
  };
  std::map<AttemptId, Waiting> waits_;  // those that wait in a queue, in order
  std::map<int, True> left_;
};

}  // namespace holdfast::sim
