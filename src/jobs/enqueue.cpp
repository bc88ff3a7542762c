// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "base/text.h"
#include "core/check.h"
#include "core/job_rule.h"
#include "jobs/jobs_state.h"
#include "jobs/running.h"

namespace holdfast {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t longest_args = 1 << 20;
constexpr std::size_t longest_name = 255;
constexpr std::size_t longest_tick = 512;

Error invalid(std::string text) { return {Errc::invalid, std::move(text)}; }

constexpr int default_attempts = 25;

bool is_beside_active_job_lock(const Client& queue) {
  return ClientAccess::store(queue)->job_key_form() == JobKeyForm::joined;
}

Unique unique_of(const JobLock& lock) {
  return lock.unique == Unique::no && lock.loner ? Unique::loner : lock.unique;
}

// A lock_failed() that throws makes the job fail, so the worker must call it before the job is over.
OnConflict stored_conflict(const JobOptions& options, const JobLock& lock) {
  const bool calls = lock.on_conflict == OnConflict::drop && options.lock_failed;
  return calls ? OnConflict::raise : lock.on_conflict;
}

EnqueueResult result_of(const EnqueueReply& reply) {
  switch (reply.what) {
    case EnqueueReply::What::enqueued: return Enqueued{reply.id};
    case EnqueueReply::What::replaced: return Enqueued{reply.id, true};
    case EnqueueReply::What::duplicate: return Duplicate{reply.id, reply.state, reply.since};
    case EnqueueReply::What::locked: break;
  }
  return Locked{reply.owner};
}

}  // namespace

JobLock jobs::lock_of(const JobOptions& options, const Client& queue) {
  if (options.lock) return *options.lock;
  if (is_beside_active_job_lock(queue)) return JobLock::active_job_lock();
  const bool declared = options.lock_key || options.lock_timeout || options.lock_store ||
                        options.lock_failed || options.lock_expired_before_release;
  return declared ? JobLock{} : JobLock{.limit = 0};
}

int jobs::attempts_of(const JobOptions& options, const Client& queue) {
  return options.max_attempts.value_or(is_beside_active_job_lock(queue) ? 1 : default_attempts);
}

// A lock, a slot and a window are found by the key.  Without them the key is only a label.
bool jobs::needs_key(const JobLock& lock) {
  return lock.limit > 0 || unique_of(lock) != Unique::no || lock.window > 0ms;
}

Status jobs::check_name(std::string_view name, const char* what) {
  if (name.empty() || name.size() > longest_name || !is_utf8(name) ||
      name.find('\0') != std::string_view::npos)
    return invalid("\"" + printable(name) + "\" cannot be the name of a " + what +
                   "; give 1 to 255 bytes of UTF-8 without NUL");
  return Status{};
}

Status jobs::check(std::string_view name, const JobOptions& options, const JobLock& lock, Millis lock_ttl) {
  if (Status s = check_name(name, "job"); !s) return s;
  if (Status s = check_name(options.queue, "queue"); !s) return s;
  const std::string of = " of " + printable(name);
  if (lock.limit < 0 || lock.limit > core::largest_limit)
    return invalid("the lock's limit" + of + " is " + std::to_string(lock.limit) + "; give 0 to " +
                   std::to_string(core::largest_limit));
  if (lock.loner && lock.unique != Unique::no && lock.unique != Unique::loner)
    return invalid("loner and unique" + of + " exclude each other; give one of them");
  if (lock.window < 0ms) return invalid("the window" + of + " is negative; give 0 or more");
  if (options.max_attempts && *options.max_attempts < 1)
    return invalid("max_attempts" + of + " is below 1; give 1 or more");
  if (options.lock_failed &&
      (lock.on_conflict == OnConflict::wait || lock.on_conflict == OnConflict::replace))
    return invalid("lock_failed" + of +
                   " would never be called, because the job waits for its lock; declare "
                   "JobLock::active_job_lock(), or on_conflict = drop or raise");
  if (Status s = check_ttl(lock_ttl); !s) return s;
  if (lock_ttl == never)
    return invalid("the lock's timeout" + of + " cannot be `never`; leave it out instead");
  if (options.lock_store && unique_of(lock) != Unique::no && !lock.allow_split_store)
    return invalid(
        printable(name) +
        " is unique, but its lock is in another store than its slot; set allow_split_store if you want that");
  return Status{};
}

// The name may contain a key with a prefix, and must fit into a column.
Status jobs::check_tick(std::string_view name) {
  if (name.size() <= longest_tick) return Status{};
  return invalid(
      "\"" + printable(name) +
      "\" is too long: a key that has a window or a tick may have at most 505 bytes; give a shorter one");
}

Result<EnqueueResult> Jobs::try_enqueue(std::string_view name, const Args& args) const {
  if (Status s = ClientAccess::check_not_forked(state_->client); !s) return std::move(s).error();
  const auto definition = state_->definition(name);
  return try_enqueue(name, args, definition ? definition->options : JobOptions{});
}

Result<EnqueueResult> Jobs::try_enqueue(std::string_view name, const Args& args,
                                        const JobOptions& options) const {
  return enqueue_with_tick(name, args, options, {});
}

Result<EnqueueResult> Jobs::enqueue_with_tick(std::string_view name, const Args& args,
                                              const JobOptions& options, const Tick& tick) const {
  JobsState& state = *state_;
  if (Status s = ClientAccess::check_not_forked(state.client); !s) return std::move(s).error();
  std::string key;
  Millis timeout{};
  try {
    key = try_key(name, args, options).value();
    timeout = jobs::timeout_of(options, args);
  } catch (const Failure& failure) {  // arguments that do not fit
    return failure.error();
  }
  const JobLock lock = jobs::lock_of(options, state.client);
  const std::string text = args.text();
  const std::string window = "window:" + key;
  NewJob job{.name = name,
             .queue = options.queue,
             .args = text,
             .priority = options.priority,
             .at = when_.at,
             .in = when_.in,
             .max_attempts = jobs::attempts_of(options, state.client),
             .key = key,
             .lock_ttl = timeout > 0ms ? timeout : jobs::unfixed_ttl,
             .lock_fixed = timeout > 0ms,
             .limit = options.lock_store ? 0 : lock.limit,
             .on_conflict = stored_conflict(options, lock),
             .unique = unique_of(lock)};
  if (!tick.name.empty()) {
    job.tick_name = tick.name;
    job.tick = tick.tick;
  } else if (lock.window > 0ms) {
    job.tick_name = window;
    job.window = lock.window;
  }
  if (Status s = jobs::check(name, options, lock, job.lock_ttl); !s) return std::move(s).error();
  if (Status s = check_key(core::lock_name(key, std::max(lock.limit, 1), lock.limit)); !s)
    return std::move(s).error();
  if (Status s = jobs::check_tick(job.tick_name); !s) return std::move(s).error();
  if (text.size() > longest_args)
    return invalid("the arguments of " + printable(name) +
                   " are larger than 1 MiB; keep large data elsewhere and pass its name");
  if (Status s = check_json_depth(text, "the list of arguments of " + printable(name)); !s)
    return std::move(s).error();
  const Instant until = jobs::soon();
  const auto reply = when_.transaction != nullptr
                         ? when_.transaction->enqueue(job, until)
                         : state.ask(until, [&](JobEngine& e) { return e.enqueue(job, until); });
  if (!reply) return reply.error();
  if (reply->what == EnqueueReply::What::duplicate && options.loner_enqueue_failed)
    options.loner_enqueue_failed({reply->id, reply->state, reply->since}, args);
  if (reply->what == EnqueueReply::What::locked && options.loner_enqueue_failed)
    options.loner_enqueue_failed({.id = no_job, .state = JobState::running}, args);
  return result_of(*reply);
}

}  // namespace holdfast
