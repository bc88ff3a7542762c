// SPDX-License-Identifier: Apache-2.0
#include "holdfast/jobs.h"

#include <algorithm>

#include "base/process.h"
#include "jobs/jobs_state.h"

namespace holdfast {
namespace {

using namespace std::chrono_literals;

constexpr Millis one_call = 5s;
constexpr Millis patience_with_schedules = 10s;  // with a store that hangs when a schedule ends

Result<JobRow> changed(JobsState& state, JobId id, JobChange what) {
  const Instant until = jobs::soon();
  const std::string by = user_at_host();
  return state.ask(until, [&](JobEngine& engine) { return engine.change(id, what, by, until); });
}

}  // namespace

Instant jobs::soon() { return clamped_add(BootClock::now(), one_call); }

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

// Not in schedule.cpp: a program without schedules must not link the time zones.
std::shared_ptr<JobsState> JobsState::for_copies(Client client) {
  struct Copies {
    explicit Copies(Client c) : state(std::make_shared<JobsState>(std::move(c))) {}
    ~Copies() { state->end_schedules(); }
    const std::shared_ptr<JobsState> state;
  };
  const auto copies = std::make_shared<const Copies>(std::move(client));
  return {copies, copies->state.get()};
}

void JobsState::end_schedules() noexcept {
  std::vector<jobs::KeptSchedule> ending;
  {
    const std::lock_guard lock(mutex);
    ending.swap(schedules);
  }
  for (const auto& kept : ending) kept.stop();
  const Instant until = clamped_add(BootClock::now(), patience_with_schedules);
  for (auto& kept : ending)
    kept.thread.finish(std::max(std::chrono::ceil<Millis>(until - BootClock::now()), Millis::zero()));
}

void leak_if_forked(std::shared_ptr<JobsState>& state) noexcept {
  if (!ClientAccess::forked(state->client)) return;
  const Client& client = state->client;
  ClientAccess::leak(client, std::move(state));
}

Jobs::Jobs(Client client) : state_(JobsState::for_copies(std::move(client))) {}

const Client& Jobs::client() const { return state_->client; }

Jobs& Jobs::define(std::string name, JobOptions options, JobFunction function) {
  ClientAccess::check_not_forked(state_->client).value();
  jobs::check_name(name, "job").value();
  auto definition =
      std::make_shared<const jobs::Definition>(jobs::Definition{std::move(options), std::move(function)});
  {
    const std::lock_guard lock(state_->mutex);
    state_->definitions[std::move(name)].swap(definition);
  }
  return *this;  // destroys the old definition without the lock: it is the user's and may call us
}

Jobs& Jobs::define_others(JobFunction function) {
  ClientAccess::check_not_forked(state_->client).value();
  auto definition = std::make_shared<const jobs::Definition>(jobs::Definition{{}, std::move(function)});
  {
    const std::lock_guard lock(state_->mutex);
    state_->others.swap(definition);
  }
  return *this;
}

Jobs Jobs::at(Moment when) const {
  When changed = when_;
  changed.at = std::max(when, Moment(Micros(1)));  // stores keep zero for none
  return Jobs(state_.shared(), changed);
}

Jobs Jobs::in(Millis delay) const {
  When changed = when_;
  changed.in = delay;
  changed.at.reset();
  return Jobs(state_.shared(), changed);
}

Jobs Jobs::in(Enqueuer& transaction) const {
  When changed = when_;
  changed.transaction = &transaction;
  return Jobs(state_.shared(), changed);
}

Result<std::string> Jobs::try_key(std::string_view name, const Args& args, const JobOptions& options) const {
  const Client& store = options.lock_store ? *options.lock_store : state_->client;
  auto key = job_key(name, options, args, ClientAccess::store(store)->job_key_form());
  if (!key && !jobs::needs_key(jobs::lock_of(options, state_->client))) return "lock:" + std::string(name);
  return key;
}

Result<std::optional<LeaseRow>> Jobs::try_locked(const std::string& key, const JobOptions& options) const {
  Client client = options.lock_store ? *options.lock_store : state_->client;
  for (const std::string& lock : lock_keys(key, options.lock ? std::max(options.lock->limit, 1) : 1)) {
    auto found = client.try_read(lock);
    if (!found) return std::move(found).error();
    if (found->remaining > 0ms) return std::optional(*std::move(found));
  }
  return std::optional<LeaseRow>();
}

Result<std::optional<JobRow>> Jobs::try_enqueued(const std::string& key) const {
  auto rows = try_list({.key = key, .state = JobState::queued, .limit = 1});
  if (!rows) return std::move(rows).error();
  return rows->empty() ? std::nullopt : std::optional(std::move(rows->front()));
}

Result<std::vector<JobRow>> Jobs::try_list(const JobQuery& query) const {
  const Instant until = jobs::soon();
  return state_->ask(until, [&](JobEngine& engine) { return engine.list(query, until); });
}

bool Jobs::refresh_lock(const std::string& key) const {
  return !ClientAccess::forked(state_->client) && state_->refresh(key);
}

Result<std::string> Jobs::try_unlock(const std::string& key, const Break& why,
                                     const JobOptions& options) const {
  const auto held = try_locked(key, options);
  if (!held) return held.error();
  if (!*held) return std::string();
  Admin by_hand(options.lock_store ? *options.lock_store : state_->client);
  return by_hand.try_break_lease((*held)->key, (*held)->token, why);
}

Result<JobRow> Jobs::try_cancel(JobId id) const { return changed(*state_, id, JobChange::cancel); }
Result<JobRow> Jobs::try_retry(JobId id) const { return changed(*state_, id, JobChange::retry); }
Result<JobRow> Jobs::try_remove(JobId id) const { return changed(*state_, id, JobChange::remove); }

Result<TickRow> Jobs::try_take_tick(const Tick& tick) const {
  if (Status s = jobs::check_tick(tick.name); !s) return std::move(s).error();
  const Instant until = jobs::soon();
  return state_->ask(until, [&](JobEngine& engine) { return engine.take_tick(tick, until); });
}

Result<TickRow> Jobs::try_tick(std::string_view name) const {
  const Instant until = jobs::soon();
  return state_->ask(until, [&](JobEngine& engine) { return engine.tick(name, until); });
}

Status Jobs::try_note_success(std::string_view name, std::string_view by) const {
  if (Status s = jobs::check_tick(name); !s) return s;
  const Instant until = jobs::soon();
  return state_->ask(until, [&](JobEngine& engine) { return engine.note_success(name, by, until); });
}

Result<std::uint64_t> Jobs::try_purge(const JobPurge& what) const {
  const Instant until = clamped_add(BootClock::now(), 30s);
  return state_->ask(until, [&](JobEngine& engine) { return engine.purge(what, until); });
}

}  // namespace holdfast
