// SPDX-License-Identifier: Apache-2.0
// engine.h - the engine of jobs as a simulated process has it: each call crosses the network.
#pragma once
#include <functional>
#include <memory>

#include "holdfast/spi/job_engine.h"
#include "sim/store.h"

namespace holdfast::sim {

class SimEngine final : public JobEngine {
 public:
  explicit SimEngine(SimStore& store) : store_(store) {}

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
  // `work` owns what it uses: it may reach the store when its caller has gone; and twice, if that does no
  // harm.
  enum class Twice { harmless, never };
  template <class T>
  Result<T> ask(std::function<Result<T>(JobEngine&)> work, Instant until, Twice twice = Twice::never);

  SimStore& store_;
};

}  // namespace holdfast::sim
