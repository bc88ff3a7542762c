// SPDX-License-Identifier: Apache-2.0
// claims.h - how the client's keeper renews the claims of running jobs.
#pragma once
#include <memory>
#include <span>

#include "client/lease_state.h"
#include "jobs/engine_pool.h"

namespace holdfast::jobs {

// The keeper's thread can outlive the queue of jobs, so this owns the engines too.
class Claims final : public ClaimRenewals {
 public:
  explicit Claims(std::shared_ptr<EnginePool> engines) : engines_(std::move(engines)) {}

  // The lease that stands for the claim of this job.
  static std::string key(JobId id);
  Status renew(std::span<const std::shared_ptr<LeaseState>> claims, std::span<Reply> replies,
               Instant until) override;

 private:
  const std::shared_ptr<EnginePool> engines_;
};

}  // namespace holdfast::jobs
