// SPDX-License-Identifier: Apache-2.0
#include "holdfast/jobs.h"

#include <algorithm>
#include <new>

#include "base/host.h"
#include "base/text.h"
#include "core/check.h"
#include "core/job_rule.h"
#include "jobs/jobs_state.h"
#include "jobs/running.h"

namespace holdfast {
namespace {

using namespace std::chrono_literals;

constexpr Millis one_call = 5s;
constexpr std::size_t longest_args = 1 << 20;
constexpr std::size_t longest_name = 255, longest_tick = 512;
constexpr int most_at_once = 1000;

Error invalid(std::string text) { return {Errc::invalid, std::move(text)}; }

Status check_name(std::string_view name, const char* what) {
  if (name.empty() || name.size() > longest_name || !is_utf8(name) ||
      name.find('\0') != std::string_view::npos)
    return invalid("\"" + printable(name) + "\" cannot be the name of a " + what +
                   ": it is UTF-8 without NUL, 1 to 255 bytes");
  return ok();
}

// It stands before a key, perhaps, and in a column.
Status check_tick(std::string_view name) {
  if (name.size() <= longest_tick) return ok();
  return invalid("\"" + printable(name) +
                 "\" is too long: with a window or a tick a key has at most 505 bytes");
}

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
  return Locked{reply.holder};
}

}  // namespace

Status jobs::check(std::string_view name, const JobOptions& options, Millis lock_ttl) {
  if (Status s = check_name(name, "job"); !s) return s;
  if (Status s = check_name(options.queue, "queue"); !s) return s;
  const JobLock& lock = options.lock;
  const std::string of = " of " + printable(name);
  if (lock.limit < 0 || lock.limit > most_at_once)
    return invalid("the limit" + of + " is not from 0 to " + std::to_string(most_at_once));
  if (lock.window < 0ms) return invalid("the window" + of + " is negative");
  if (options.max_attempts < 1) return invalid("max_attempts" + of + " is below 1");
  if (Status s = core::check_ttl(lock_ttl); !s) return s;
  if (lock_ttl == never) return invalid("the timeout" + of + " has no end; leave it out instead");
  if (options.lock_store && unique_of(lock) != Unique::no && !lock.allow_split_store)
    return invalid(
        printable(name) +
        " is a loner whose lock is in another store than its slot; say allow_split_store if that is meant");
  return ok();
}

Instant jobs::soon() { return after(BootClock::now(), one_call); }

std::shared_ptr<const jobs::Definition> JobsState::definition(std::string_view name) const {
  const std::lock_guard lock(mutex);
  const auto found = definitions.find(name);
  return found == definitions.end() ? others : found->second;
}

void JobsState::began(const Context& context) {
  const std::lock_guard lock(mutex);
  running.emplace(context->job.key, context);
}

void JobsState::ended(const Context& context) {
  const std::lock_guard lock(mutex);
  std::erase_if(running, [&](const auto& entry) { return entry.second == context; });
}

bool JobsState::refresh(const std::string& key) {
  std::vector<Context> contexts;
  {
    const std::lock_guard lock(mutex);
    const auto [first, last] = running.equal_range(key);
    for (auto found = first; found != last; ++found) contexts.push_back(found->second);
  }
  bool refreshed = false;
  for (const Context& context : contexts) refreshed = JobContext(*context).refresh_lock() || refreshed;
  return refreshed;
}

// A child after fork() has neither the threads nor the connections.
JobsState::~JobsState() {
  if (!Adoption::forked(client)) return;
  pool.abandon();
  for (auto& schedule : schedules) new (std::nothrow) std::shared_ptr<void>(std::move(schedule));
}

Jobs::Jobs(Client client) : state_(std::make_shared<JobsState>(std::move(client))) {}

const Client& Jobs::client() const { return state_->client; }

Jobs& Jobs::define(std::string name, JobOptions options, JobFunction function) {
  if (Status s = check_name(name, "job"); !s) raise(std::move(s).error());
  auto definition =
      std::make_shared<const jobs::Definition>(jobs::Definition{std::move(options), std::move(function)});
  const std::lock_guard lock(state_->mutex);
  state_->definitions[std::move(name)] = std::move(definition);
  return *this;
}

Jobs& Jobs::define_others(JobFunction function) {
  auto definition = std::make_shared<const jobs::Definition>(jobs::Definition{{}, std::move(function)});
  const std::lock_guard lock(state_->mutex);
  state_->others = std::move(definition);
  return *this;
}

Jobs Jobs::at(Micros since_1970) const {
  When changed = when_;
  changed.at = std::max(since_1970, Micros(1));  // zero would be now
  return Jobs(state_, changed);
}

Jobs Jobs::in(Millis delay) const {
  When changed = when_;
  changed.in = delay;
  changed.at = Micros::zero();
  return Jobs(state_, changed);
}

Jobs Jobs::in(Enqueuer& transaction) const {
  When changed = when_;
  changed.transaction = &transaction;
  return Jobs(state_, changed);
}

Result<EnqueueResult> Jobs::try_enqueue(std::string_view name, const Args& args) const {
  const auto definition = state_->definition(name);
  return try_enqueue(name, args, definition ? definition->options : JobOptions{});
}

Result<EnqueueResult> Jobs::try_enqueue(std::string_view name, const Args& args, const JobOptions& options,
                                        const std::optional<JobTick>& tick) const {
  if (Status s = Adoption::check_not_forked(state_->client); !s) return std::move(s).error();
  std::string key;
  Millis timeout{};
  try {
    key = job_key(name, options, args).value();
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
             .at = when_.at,
             .in = when_.in,
             .max_attempts = options.max_attempts,
             .key = key,
             .lock_ttl = timeout > 0ms ? timeout : jobs::unfixed_ttl,
             .lock_fixed = timeout > 0ms,
             .limit = options.lock_store ? 0 : options.lock.limit,
             .on_conflict = stored_conflict(options),
             .unique = unique_of(options.lock)};
  if (tick) {
    job.tick_name = tick->name;
    job.tick = tick->tick;
  } else if (options.lock.window > 0ms) {
    job.tick_name = window;
    job.window = options.lock.window;
  }
  if (Status s = jobs::check(name, options, job.lock_ttl); !s) return std::move(s).error();
  if (text.size() > longest_args)
    return invalid("the arguments of " + printable(name) + " are larger than 1 MiB");
  const Instant until = jobs::soon();
  const auto reply = when_.transaction != nullptr
                         ? when_.transaction->enqueue(job, until)
                         : state_->ask(until, [&](JobEngine& e) { return e.enqueue(job, until); });
  if (!reply) return reply.error();
  if (reply->what == EnqueueReply::What::duplicate && options.loner_enqueue_failed)
    options.loner_enqueue_failed({reply->id, reply->state, reply->since}, args);
  if (reply->what == EnqueueReply::What::locked && options.loner_enqueue_failed)
    options.loner_enqueue_failed({.id = no_job, .state = JobState::running}, args);
  return told(*reply);
}

std::optional<LeaseRow> Jobs::locked(const std::string& key, const JobOptions& options) const {
  Operator by_hand(options.lock_store ? *options.lock_store : state_->client);
  const int limit = std::max(options.lock.limit, 1);
  for (int n = 1; n <= limit; ++n) {
    const std::string lock = core::lock_name(key, limit, n);
    if (const Inspection found = by_hand.inspect(lock); found.lease.remaining > 0ms) return found.lease;
  }
  return std::nullopt;
}

std::optional<JobRow> Jobs::enqueued(const std::string& key) const {
  auto rows = list({.key = key, .state = JobState::queued, .limit = 1});
  return rows.empty() ? std::nullopt : std::optional(std::move(rows.front()));
}

Result<std::vector<JobRow>> Jobs::try_list(const JobQuery& query) const {
  const Instant until = jobs::soon();
  return state_->ask(until, [&](JobEngine& engine) { return engine.list(query, until); });
}

bool Jobs::refresh_lock(const std::string& key) const { return state_->refresh(key); }

std::string Jobs::unlock(const std::string& key, const Break& why, const JobOptions& options) const {
  const auto held = locked(key, options);
  if (!held) return {};
  Operator by_hand(options.lock_store ? *options.lock_store : state_->client);
  return by_hand.break_lease(held->key, held->token, why);
}

Result<JobRow> Jobs::try_change(JobId id, JobChange what) const {
  const Instant until = jobs::soon();
  const std::string by = user_at_host();
  return state_->ask(until, [&](JobEngine& engine) { return engine.change(id, what, by, until); });
}

Result<std::uint64_t> Jobs::try_purge(const JobPurge& what) const {
  const Instant until = after(BootClock::now(), 30s);
  return state_->ask(until, [&](JobEngine& engine) { return engine.purge(what, until); });
}

Result<TickRow> Jobs::try_take_tick(const Tick& tick) const {
  if (Status s = check_tick(tick.name); !s) return std::move(s).error();
  const Instant until = jobs::soon();
  return state_->ask(until, [&](JobEngine& engine) { return engine.take_tick(tick, until); });
}

Result<TickRow> Jobs::try_tick(std::string_view name) const {
  const Instant until = jobs::soon();
  return state_->ask(until, [&](JobEngine& engine) { return engine.tick(name, until); });
}

Status Jobs::try_note_success(std::string_view name, std::string_view by) const {
  if (Status s = check_tick(name); !s) return s;
  const Instant until = jobs::soon();
  return state_->ask(until, [&](JobEngine& engine) { return engine.note_success(name, by, until); });
}

}  // namespace holdfast
