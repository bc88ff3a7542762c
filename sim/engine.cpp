// SPDX-License-Identifier: Apache-2.0
#include "sim/engine.h"

#include <string>
#include <utility>
#include <vector>

namespace holdfast::sim {

template <class T>
Result<T> SimEngine::ask(std::function<Result<T>(JobEngine&)> work, Instant until, Twice twice) {
  Letter letter{.job_may_be_doubled = twice == Twice::harmless};
  letter.job = [work = std::move(work)](JobEngine& engine) -> std::shared_ptr<void> {
    return std::make_shared<Result<T>>(work(engine));
  };
  auto answer = store_.ask(std::move(letter), until);
  if (!answer) return std::move(answer).error();
  return *std::static_pointer_cast<Result<T>>(answer->job);
}

Result<EnqueueReply> SimEngine::enqueue(const NewJob& job, Instant until) {
  struct Texts {
    std::string name, queue, args, key, tick;
  };
  return ask<EnqueueReply>(
      [job = NewJob(job),
       texts = Texts{std::string(job.name), std::string(job.queue), std::string(job.args),
                     std::string(job.key), std::string(job.tick_name)}](JobEngine& engine) mutable {
        job.name = texts.name;
        job.queue = texts.queue;
        job.args = texts.args;
        job.key = texts.key;
        job.tick_name = texts.tick;
        return engine.enqueue(job, Instant::max());
      },
      until);
}

Result<Claimed> SimEngine::claim(const ClaimRequest& request, Instant until) {
  return ask<Claimed>(
      [request = ClaimRequest(request),
       queues = std::vector<std::string>(request.queues.begin(), request.queues.end()),
       owner = std::string(request.owner.text)](JobEngine& engine) mutable {
        request.queues = queues;
        request.owner = {owner};
        return engine.claim(request, Instant::max());
      },
      until);
}

Status SimEngine::renew(std::span<const ClaimRef> claims, std::span<ClaimReply> replies, Instant until) {
  std::vector<std::string> owners;
  for (const ClaimRef& claim : claims) owners.emplace_back(claim.owner.text);
  auto renewed = ask<std::vector<ClaimReply>>(
      [claims = std::vector<ClaimRef>(claims.begin(), claims.end()),
       owners](JobEngine& engine) mutable -> Result<std::vector<ClaimReply>> {
        for (std::size_t i = 0; i < claims.size(); ++i) claims[i].owner = {owners[i]};
        std::vector<ClaimReply> answers(claims.size());
        if (Status s = engine.renew(claims, answers, Instant::max()); !s) return std::move(s).error();
        return answers;
      },
      until, Twice::harmless);
  if (!renewed) return std::move(renewed).error();
  std::move(renewed->begin(), renewed->end(), replies.begin());
  return Status{};
}

Result<Finished> SimEngine::finish(const Finish& finish, Instant until) {
  struct Texts {
    std::string owner, error, lock;
  };
  return ask<Finished>(
      [finish = Finish(finish), texts = Texts{std::string(finish.owner.text), std::string(finish.error),
                                              std::string(finish.lock.text)}](JobEngine& engine) mutable {
        finish.owner = {texts.owner};
        finish.error = texts.error;
        finish.lock = {texts.lock};
        return engine.finish(finish, Instant::max());
      },
      until, Twice::harmless);
}

Result<std::vector<JobRow>> SimEngine::list(const JobQuery& query, Instant until) {
  struct Texts {
    std::string key, name, queue;
  };
  return ask<std::vector<JobRow>>(
      [query = JobQuery(query), texts = Texts{std::string(query.key), std::string(query.name),
                                              std::string(query.queue)}](JobEngine& engine) mutable {
        query.key = texts.key;
        query.name = texts.name;
        query.queue = texts.queue;
        return engine.list(query, Instant::max());
      },
      until);
}

Result<JobRow> SimEngine::change(JobId id, JobChange what, std::string_view by, Instant until) {
  return ask<JobRow>([id, what, who = std::string(by)](
                         JobEngine& engine) { return engine.change(id, what, who, Instant::max()); },
                     until);
}

Result<TickRow> SimEngine::take_tick(const Tick& tick, Instant until) {
  return ask<TickRow>(
      [tick = Tick(tick), name = std::string(tick.name),
       by = std::string(tick.by)](JobEngine& engine) mutable {
        tick.name = name;
        tick.by = by;
        return engine.take_tick(tick, Instant::max());
      },
      until);
}

Result<TickRow> SimEngine::tick(std::string_view name, Instant until) {
  return ask<TickRow>(
      [what = std::string(name)](JobEngine& engine) { return engine.tick(what, Instant::max()); }, until);
}

Status SimEngine::note_success(std::string_view name, std::string_view by, Instant until) {
  auto noted = ask<std::monostate>(
      [what = std::string(name), who = std::string(by)](JobEngine& engine) -> Result<std::monostate> {
        if (Status s = engine.note_success(what, who, Instant::max()); !s) return std::move(s).error();
        return std::monostate{};
      },
      until);
  if (!noted) return std::move(noted).error();
  return Status{};
}

Result<std::uint64_t> SimEngine::purge(const JobPurge& what, Instant until) {
  return ask<std::uint64_t>([what](JobEngine& engine) { return engine.purge(what, Instant::max()); }, until);
}

}  // namespace holdfast::sim
