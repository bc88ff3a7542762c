// SPDX-License-Identifier: Apache-2.0
// lookup.cpp - `holdfast jobs locked` and `holdfast jobs enqueued`: the exit code says yes or no.
#include "base/text.h"
#include "cli/commands.h"
#include "cli/jobs/job_format.h"
#include "cli/json.h"
#include "cli/open_store.h"
#include "cli/output.h"
#include "core/job_rule.h"

namespace holdfast::cli {
namespace {

Result<std::string> key_of(const LockOfJob& lock, const Store& store) {
  return lock.key.empty() ? job_key(lock.name, {}, lock.args, store.job_key_form()) : lock.key;
}

}  // namespace

int execute(const JobsLocked& command, const Common& common) {
  auto found_store = find_store(common);
  if (!found_store) return fail(found_store.error());
  const auto key = key_of(command.lock, *found_store->store);
  if (!key) return fail(key.error());
  if (found_store->unused) return exit_no;
  for (int n = 1; n <= command.limit; ++n) {
    const auto found = found_store->by_hand.try_inspect(core::lock_name(*key, command.limit, n));
    if (!found) return fail(found.error());
    if (found->lease.remaining == Millis::zero()) continue;
    print(common.json ? json_of(found->lease) : printable(found->lease.owner));
    return exit_ok;
  }
  return exit_no;
}

int execute(const JobsEnqueued& command, const Common& common) {
  auto found_store = find_store(common);
  if (!found_store) return fail(found_store.error());
  const auto key = key_of(command.lock, *found_store->store);
  if (!key) return fail(key.error());
  const auto engine = jobs_of(*found_store);
  if (!engine) return fail(engine.error());
  if (!*engine) return exit_no;
  const auto jobs = (*engine)->list({.key = *key, .state = JobState::queued, .limit = 1}, soon());
  if (!jobs) return fail(jobs.error());
  if (jobs->empty()) return exit_no;
  print(common.json ? json_of(jobs->front()) : std::to_string(to_number(jobs->front().id)));
  return exit_ok;
}

}  // namespace holdfast::cli
