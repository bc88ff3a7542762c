// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "base/json_depth.h"
#include "base/text.h"
#include "core/check.h"
#include "core/job_rule.h"
#include "jobs/jobs_state.h"
#include "jobs/running.h"
#include "jobs/ticks.h"

namespace holdfast {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t longest_args = 1 << 20;
constexpr std::size_t longest_name = 255;
constexpr int most_at_once = 1000;

Error invalid(std::string text) { return {Errc::invalid, std::move(text)}; }

Unique unique_of(const JobLock& lock) {
  return lock.unique == Unique::no && lock.loner ? Unique::loner : lock.unique;
}

// A lock_failed() that throws makes the job fail: so it must be asked before the job is over.
OnConflict stored_conflict(const JobOptions& options) {
  const bool asks = options.lock.on_conflict == OnConflict::drop && options.lock_failed;
  return asks ? OnConflict::raise : options.lock.on_conflict;
}

EnqueueResult told(const EnqueueReply& reply) {
  switch (reply.what) {
    case EnqueueReply::What::enqueued: return Enqueued{reply.id};
    case EnqueueReply::What::replaced: return Enqueued{reply.id, true};
    case EnqueueReply::What::duplicate: return Duplicate{reply.id, reply.state, reply.since};
    case EnqueueReply::What::locked: break;
  }
  return Locked{reply.owner};
}

}  // namespace

Status jobs::check_name(std::string_view name, const char* what) {
  if (name.empty() || name.size() > longest_name || !is_utf8(name) ||
      name.find('\0') != std::string_view::npos)
    return invalid("\"" + printable(name) + "\" cannot be the name of a " + what +
                   "; give 1 to 255 bytes of UTF-8 without NUL");
  return Status{};
}

Status jobs::check(std::string_view name, const JobOptions& options, Millis lock_ttl) {
  if (Status s = check_name(name, "job"); !s) return s;
  if (Status s = check_name(options.queue, "queue"); !s) return s;
  const JobLock& lock = options.lock;
  const std::string of = " of " + printable(name);
  if (lock.limit < 0 || lock.limit > most_at_once)
    return invalid("the lock's limit" + of + " is " + std::to_string(lock.limit) + "; give 0 to " +
                   std::to_string(most_at_once));
  if (lock.window < 0ms) return invalid("the window" + of + " is negative; give 0 or more");
  if (options.max_attempts < 1) return invalid("max_attempts" + of + " is below 1; give 1 or more");
  if (Status s = core::check_ttl(lock_ttl); !s) return s;
  if (lock_ttl == never)
    return invalid("the lock's timeout" + of + " cannot be `never`; leave it out instead");
  if (options.lock_store && unique_of(lock) != Unique::no && !lock.allow_split_store)
    return invalid(
        printable(name) +
        " is unique, but its lock is in another store than its slot; set allow_split_store if you want that");
  return Status{};
}

Result<EnqueueResult> Ticks::enqueue(const Jobs& of, std::string_view name, const Args& args,
                                     const JobOptions& options, const Tick& tick) {
  JobsState& state = *of.state_;
  const Jobs::When& when = of.when_;
  if (Status s = ClientAccess::check_not_forked(state.client); !s) return std::move(s).error();
  std::string key;
  Millis timeout{};
  try {
    key = of.try_key(name, args, options).value();
    timeout = jobs::timeout_of(options, args);
  } catch (const Failure& failure) {  // arguments that do not fit
    return failure.error();
  }
  const std::string text = args.text();
  const std::string window = "window:" + key;
  NewJob job{.name = name,
             .queue = options.queue,
             .args = text,
             .priority = options.priority,
             .at = when.at,
             .in = when.in,
             .max_attempts = options.max_attempts,
             .key = key,
             .lock_ttl = timeout > 0ms ? timeout : jobs::unfixed_ttl,
             .lock_fixed = timeout > 0ms,
             .limit = options.lock_store ? 0 : options.lock.limit,
             .on_conflict = stored_conflict(options),
             .unique = unique_of(options.lock)};
  if (!tick.name.empty()) {
    job.tick_name = tick.name;
    job.tick = tick.tick;
  } else if (options.lock.window > 0ms) {
    job.tick_name = window;
    job.window = options.lock.window;
  }
  if (Status s = jobs::check(name, options, job.lock_ttl); !s) return std::move(s).error();
  if (Status s = core::check_key(core::lock_name(key, std::max(options.lock.limit, 1), options.lock.limit));
      !s)
    return std::move(s).error();
  if (Status s = jobs::check_tick(job.tick_name); !s) return std::move(s).error();
  if (text.size() > longest_args)
    return invalid("the arguments of " + printable(name) +
                   " are larger than 1 MiB; keep large data elsewhere and pass its name");
  if (Status s = check_json_depth(text, "the list of arguments of " + printable(name)); !s)
    return std::move(s).error();
  const Instant until = jobs::soon();
  const auto reply = when.transaction != nullptr
                         ? when.transaction->enqueue(job, until)
                         : state.ask(until, [&](JobEngine& e) { return e.enqueue(job, until); });
  if (!reply) return reply.error();
  if (reply->what == EnqueueReply::What::duplicate && options.loner_enqueue_failed)
    options.loner_enqueue_failed({reply->id, reply->state, reply->since}, args);
  if (reply->what == EnqueueReply::What::locked && options.loner_enqueue_failed)
    options.loner_enqueue_failed({.id = no_job, .state = JobState::running}, args);
  return told(*reply);
}

}  // namespace holdfast
