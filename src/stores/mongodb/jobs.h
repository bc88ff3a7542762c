// SPDX-License-Identifier: Apache-2.0
// jobs.h - jobs in MongoDB: one document each (job_collection.h), beside the leases.
//
// A server alone has no transactions, so what the rows of an SQL database change in one step is several here.
// Each step is one command about one document, and their order is such that whoever dies between two of them
// leaves only what ends by itself:
//
//   enqueue   an insert: the job with its slot and its tick, or nothing
//   claim     1. take: a findAndModify finds the next one and writes who takes it, until when; nobody else
//                looks at it meanwhile.  2. its lease, by the store's own rule.  3. what core/job_rule.h
//                makes of that, if it still is as it was read: it runs, waits, or is dropped; or it goes
//                back, if a duplicate has put it off meanwhile
//   finish    1. whoever waits first for the lock looks within a second.  2. the job, if the claim is still
//                the holder's.  3. the lease is released.  4. whoever waits first is due
//
// Taken first and locked then, not the other way round: a worker that held the lock of a job which another is
// about to have would let third ones drop theirs for nobody, and that other one drop the job itself.
//
//   died after              leaves
//   claim 1, 2              a taking that runs out with its time (the claim's, at least a second): the next
//                           one takes the job over, and gives back what the dead one may have acquired
//   claim 1, slow           as above; but one who is so slow that another takes the job over, then acquires
//                           the lease after all and dies before it gives it back leaves a lease that no job
//                           names: it ends with its time, and jobs of that key wait or are dropped until then
//   finish 1                a job that looks once more than it had to
//   finish 2                the lease, until its time is over or finish is asked again; the first of those
//                           that wait looks every second
//   finish 3                as 2, without the lease
//
// A claim that has run out is taken in the same way, and its holder can neither renew nor finish it then; its
// lease is given back when it is taken, not before, so that one who was only late keeps both.
//
// The server picks for each worker, so those who ask at the same moment get different jobs, and none of them
// finds the same one taken again and again.  All times are the server's.
#pragma once
#include <memory>
#include <optional>
#include <string>

#include "holdfast/spi/job_engine.h"
#include "stores/mongodb/job_collection.h"
#include "stores/mongodb/store_connection.h"

namespace holdfast::mongodb {

class MongoEngine final : public JobEngine {
 public:
  // Creates the indexes that are missing.  Throws Failure.
  MongoEngine(std::shared_ptr<const StoreConfig> config, Instant until);

  Result<EnqueueReply> enqueue(const NewJob& job, Instant until) override;
  Result<Claimed> claim(const ClaimRequest& request, Instant until) override;
  Status renew(std::span<const ClaimRef> claims, std::span<bool> held, Millis ttl, Instant until) override;
  Result<Finished> finish(const Finish& finish, Instant until) override;
  Result<std::vector<JobRow>> list(const JobQuery& query, Instant until) override;
  Result<JobRow> change(JobId id, JobChange what, std::string_view by, Instant until) override;
  Result<TickRow> take_tick(const Tick& tick, Instant until) override;
  Result<TickRow> tick(std::string_view name, Instant until) override;
  Status note_success(std::string_view name, std::string_view by, Instant until) override;
  Result<std::uint64_t> purge(const JobPurge& what, Instant until) override;

 private:
  struct Call {
    JobCollection jobs;
    TickCollection ticks;
    Instant until;
  };
  // The result of an attempt to acquire a job's lock.
  struct Lock {
    bool granted = false;
    std::string name = {};  // empty: it needs none
    Token token{};
    Millis remaining{};        // granted: of the lease; else: until the first of them may be free
    std::string blocker = {};  // who holds the first of them
  };

  // Returns a Failure that `work` throws as a value.
  template <class Out, class Work>
  Out guarded(Instant until, const Work& work);

  // -- leases, by the rule of spi/store.h

  void apply(Call& call, std::span<const Request> requests, std::span<Reply> replies);
  Reply lease(Call& call, const Request& request);
  std::string lock_owner(Call& call, Key lock);

  // -- enqueue

  std::optional<EnqueueReply> try_enqueue(Call& call, const NewJob& job, JobCollection::Fresh& fresh);
  std::optional<EnqueueReply> meet(Call& call, const NewJob& job, Moment wall);
  EnqueueReply tick_was_taken(Call& call, const KeptTick& last, Moment wall);
  EnqueueReply enqueued(Call& call, const KeptJob& job);

  // -- claims.cpp

  bool try_claim(Call& call, const ClaimRequest& request, Claimed& claimed);
  std::optional<KeptJob> take(Call& call, const ClaimRequest& request);
  bool decide(Call& call, const ClaimRequest& request, KeptJob job, Claimed& claimed);
  void set_dead(Call& call, const KeptJob& job);
  void give_back_of_the_dead(Call& call, const KeptJob& job);
  Lock take_lock(Call& call, const ClaimRequest& request, const JobRow& row);
  void give_back(Call& call, const ClaimRequest& request, const Lock& lock);
  Claimed::What start_or_park(Call& call, const ClaimRequest& request, const Lock& lock,
                              const core::JobMoment& moment, core::JobRecord& job);
  void make_next_due(Call& call, std::string_view key);

  MongoStoreConnection store_;
};

template <class Out, class Work>
Out MongoEngine::guarded(Instant until, const Work& work) {
  Call call{JobCollection(store_.connection(), until), TickCollection(store_.connection(), until), until};
  try {
    store_.ready(until);
    return work(call);
  } catch (const Failure& failure) {
    Error error = failure.error();
    if (call.jobs.applied()) error.code = Errc::in_doubt;
    return error;
  }
}

}  // namespace holdfast::mongodb
