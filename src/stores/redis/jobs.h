// SPDX-License-Identifier: Apache-2.0
// jobs.h - jobs in Redis: each step is one script of jobs.lua or claims.lua.
#pragma once
#include <functional>
#include <memory>

#include "holdfast/spi/job_engine.h"
#include "stores/redis/session.h"

namespace holdfast::redis {

class RedisEngine final : public JobEngine {
 public:
  // Throws Failure.
  RedisEngine(std::shared_ptr<const StoreConfig> config, Instant until) : session_(std::move(config)) {
    session_.ready(until);
  }

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
  // Runs a script with so many words that `add` puts behind those which all of them have.  Throws Failure.
  Answer run(Lua lua, std::size_t words, const std::function<void(Command&)>& add, Instant until);
  TickRow run_tick(std::string_view what, const Tick& tick, Instant until);

  Session session_;
};

}  // namespace holdfast::redis
