// SPDX-License-Identifier: Apache-2.0
// enqueue.cpp - `holdfast jobs enqueue NAME [ARG]...`: add a job.
#include "base/text.h"
#include "base/time.h"
#include "cli/commands.h"
#include "cli/jobs/job_format.h"
#include "cli/notices.h"
#include "cli/output.h"
#include "holdfast/jobs.h"

namespace holdfast::cli {
namespace {

// The job that was requested.
struct EnqueueRequest {
  const std::optional<JobLock>& lock;
  std::string key;
};

int answer(const Enqueued& enqueued, const EnqueueRequest&, bool quiet) {
  if (!quiet) print(std::to_string(to_number(enqueued.id)));
  return exit_ok;
}

int answer(const Duplicate& duplicate, const EnqueueRequest& request, bool quiet) {
  const std::string id = std::to_string(to_number(duplicate.id)), key = printable(request.key);
  if (!quiet) print(id);
  (void)flush_stdout();  // for a reader of both streams: the answer comes first
  const auto& lock = request.lock;
  const bool by_window = lock && lock->window > Millis::zero() && lock->unique == Unique::no && !lock->loner;
  complain("not enqueued: job " + id + " with the key " + key +
           (by_window ? " was already enqueued in this window"
                      : std::string(" is already ") + to_string(duplicate.state)) +
           (duplicate.since ? " (enqueued at " + format_wall(*duplicate.since) + ")" : ""));
  return exit_duplicate;
}

int answer(const Locked& locked, const EnqueueRequest& request, bool) {
  complain("not enqueued: " + printable(request.key) + " is held by " + printable(short_owner(locked.owner)));
  return exit_busy;
}

}  // namespace

int execute(const JobsEnqueue& command, const Common& common) {
  auto client = try_open(common.store, with_notices(common.quiet));
  if (!client) return fail(client.error());
  const Jobs all(*client);
  const Jobs jobs = command.at ? all.at(*command.at) : all.in(command.in);
  auto key = jobs.try_key(command.name, command.args, command.options);
  if (!key) return fail(key.error());
  const auto result = jobs.try_enqueue(command.name, command.args, command.options);
  if (!result) return fail(result.error());
  if (common.json) print(json_of(*result, *key));
  const EnqueueRequest request{command.options.lock, *std::move(key)};
  return std::visit([&](const auto& what) { return answer(what, request, common.json); }, *result);
}

}  // namespace holdfast::cli
