// SPDX-License-Identifier: Apache-2.0
#include "jobs/claims.h"

#include <cassert>
#include <string>
#include <vector>

namespace holdfast::jobs {
namespace {

constexpr std::string_view prefix = "job ";

JobId id_in(std::string_view key) { return JobId{std::stoull(std::string(key.substr(prefix.size())))}; }

}  // namespace

std::string Claims::key(JobId id) { return std::string(prefix) + std::to_string(to_number(id)); }

Status Claims::renew(std::span<const std::shared_ptr<LeaseState>> claims, std::span<Reply> replies,
                     Instant until) {
  assert(replies.size() == claims.size());
  std::vector<ClaimRef> refs;
  for (const auto& claim : claims)
    refs.push_back({.id = id_in(claim->key),
                    .owner = {claim->owner},
                    .ttl = claim->ttl(),
                    .wait_if_locked = claim->failed_renewals > 0});
  std::vector<ClaimReply> answers(refs.size());
  Status status =
      engines_->with(until, [&](JobEngine& engine) { return engine.renew(refs, answers, until); });
  if (!status) return status;
  for (std::size_t i = 0; i < answers.size(); ++i)
    replies[i] = {.verdict = answers[i].held ? Verdict::granted : Verdict::lost,
                  .remaining = refs[i].ttl,
                  .error = std::move(answers[i].error)};
  return status;
}

}  // namespace holdfast::jobs
