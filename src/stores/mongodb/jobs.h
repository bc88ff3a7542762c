// SPDX-License-Identifier: Apache-2.0
// jobs.h - jobs in MongoDB: one document each (job_collection.h), beside the leases.
//
// A standalone server has no transactions, so the changes that an SQL database makes in one step are several
// here.  Each step is one command about one document, and their order is such that a process that dies
// between two of them leaves only what ends by itself:
//
//   enqueue   an insert: the job with its slot and its tick, or nothing
//   claim     1. take: a findAndModify finds the next job and writes who takes it, until when; nobody else
//                claims it meanwhile.  2. its lease, by the store's own rule.  3. what core/job_rule.h
//                decides from that, if the document is still as it was read: the job runs, waits, or is
//                dropped; or it goes back, if a duplicate has put it off meanwhile
//   finish    1. the first job that waits for the lock will check within a second.  2. the job, if the claim
//                is still the owner's.  3. the lease is released.  4. the first job that waits is due
//
// Taken first and locked then, not the other way round: if a worker held the lock of a job that another
// worker is about to take, third workers would drop their jobs for nobody, and the other worker would drop
// this job.
//
//   died after              leaves
//   claim 1, 2              a taking that ends with its time (the claim's, at least a second): the next
//   worker
//                           takes the job over, and releases what the dead one may have acquired
//   claim 1, slow           as above; but a worker that is so slow that another takes the job over, then
//                           acquires the lease after all and dies before it releases it, leaves a lease that
//                           no job names: it ends with its time, and jobs of that key wait or are dropped
//                           until then
//   finish 1                a job that checks once more than it had to
//   finish 2                the lease, until its time is over or finish is sent again; the first of the
//                           waiting jobs checks every second
//   finish 3                as 2, without the lease
//
// A claim that has run out is taken in the same way, and its owner can neither renew nor finish it then.  Its
// lease is released when it is taken, not before, so that a worker that was only late keeps both.
//
// The server picks the job for each worker, so workers that claim at the same moment get different jobs, and
// none of them finds the same job taken again and again.  All times are the server's.
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
  Status renew(std::span<const ClaimRef> claims, std::span<ClaimReply> replies, Instant until) override;
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
