// SPDX-License-Identifier: Apache-2.0
// The keeper's renewal thread: renewals, pending releases and purges.
#include <iterator>
#include <limits>
#include <new>
#include <utility>

#include "base/text.h"
#include "client/connection.h"
#include "client/keeper.h"
#include "client/queries.h"
#include "core/timing.h"

namespace holdfast {
namespace {

using namespace std::chrono_literals;

constexpr Millis one_pending_release = 500ms;
constexpr Millis one_keeper_purge = 30s;
constexpr Millis pending_release_pause = 100ms;  // before a pending release is tried again

// The error of one request of a batch; null: it was answered.
const Error* error_of(const Status& batch, const Reply& reply) {
  if (!batch) return &batch.error();
  return reply.error ? &*reply.error : nullptr;
}

// The next attempt may have memory again; an exception here would end the process.
template <class Call>
Status with_memory(const Call& call) {
  try {
    return call();
  } catch (const std::bad_alloc&) {
    return Error{Errc::in_doubt, "out of memory"};
  }
}

std::vector<Request> requests_to_renew(const std::vector<std::shared_ptr<LeaseState>>& due) {
  std::vector<Request> requests;
  for (const auto& lease : due)
    requests.push_back({.verb = Verb::renew,
                        .key = {lease->key},
                        .owner = {lease->owner},
                        .token = lease->token,
                        .ttl = lease->ttl()});
  return requests;
}

}  // namespace

void Keeper::State::renewal_thread() {
  Connection connection(store, telemetry, spare);
  while (true) {
    const Instant now = BootClock::now();
    const bool well = guarded([&] {
      // `due` may hold the last references to leases, so it is destroyed before the thread sleeps.
      if (const LeaseStates due = take_due(now); !due.empty()) renew(connection, due);
    });
    send_pending_releases(connection, now);
    report_calls();
    guarded([&] { purge_if_due(now); });
    Instant next;
    {
      const std::lock_guard lock(mutex);
      if (closed && pending_releases.empty()) break;
      if (closed) continue;  // sends the releases that did not fit into one batch
      if (!well) keeping.all_failed(now, jitter.fraction());
      next = keeping.next_renewal();
      if (!pending_releases.empty()) next = std::min(next, pending_releases.begin()->first);
      next = std::min(next, next_purge);
      if (!well) next = std::max(next, clamped_add(now, without_memory));
      renewal_sleeps_until = next;
    }
    renewal_wakeup.wait(next);
    const std::lock_guard lock(mutex);
    renewal_sleeps_until = Instant::min();  // awake: nobody needs to ring
  }
  purging.finish(one_pending_release);
}

Keeper::State::LeaseStates Keeper::State::take_due(Instant now) {
  LeaseStates due;
  {
    const std::lock_guard lock(mutex);
    for (const auto id : keeping.due(now, renewals_at_once.now())) due.push_back(leases.at(id));
  }
  std::erase_if(due, [this](const std::shared_ptr<LeaseState>& lease) { return is_finished(*lease); });
  return due;
}

// Calls the user's function without a lock; drop() waits for its result.  An exception counts as `true`, as
// in Darwin's Locker.
bool Keeper::State::is_finished(const LeaseState& lease) {
  if (!lease.finished) return false;
  {
    const std::lock_guard lock(mutex);
    if (!leases.contains(lease.id)) return true;  // dropped since
    asking = lease.id;
  }
  bool finished = true;
  try {
    finished = lease.finished();
  } catch (...) {
  }
  const std::lock_guard lock(mutex);
  asking.reset();
  answered.notify_all();
  if (finished) keeping.stop_renewing(lease.id);
  return finished;
}

void Keeper::State::renew(StoreConnection& connection, const LeaseStates& due) {
  ClaimRenewals* const claims =
      due.front()->claim.get();  // a batch has either claims of one queue, or leases
  core::BatchSize& at_once = claims ? claims->at_once : renewals_at_once;
  std::vector<Reply> replies(due.size());
  const Instant sent = BootClock::now();  // before sending: the store cannot start the ttl earlier
  Instant until = time_for_a_call(sent), last_deadline = Instant::min();
  for (const auto& lease : due) {
    until = std::min(until, clamped_add(sent, core::attempt_limit(lease->ttl())));
    last_deadline = std::max(last_deadline, lease->believed_until());
  }
  until = std::min(until, last_deadline);  // not the first deadline: a dying lease must not shorten the call
  const Status status = with_memory([&] {
    return claims ? claims->renew(due, replies, until)
                  : connection.apply(requests_to_renew(due), replies, until);
  });
  const Instant now = BootClock::now();
  if (status)
    at_once.answered(due.size(), std::chrono::floor<Millis>(until - sent), now - sent);
  else
    at_once.failed(due.size());
  const auto has_answer = [&](std::size_t i) { return error_of(status, replies[i]) == nullptr; };
  // Renewed leases first: to find out why others were lost takes a query, and the deadlines do not wait for
  // it.
  for (std::size_t i = 0; i < due.size(); ++i) {
    if (!has_answer(i)) {
      ++due[i]->failed_renewals;
    } else if (replies[i].verdict == Verdict::granted) {
      settle_renewed(due[i], replies[i], sent);
      due[i]->failed_renewals = 0;
      due[i]->failure_logged = false;
    }
  }
  const Instant enough = time_for_a_call(now);  // for these queries: other renewals are due then
  for (std::size_t i = 0; i < due.size(); ++i) {
    if (has_answer(i) && replies[i].verdict != Verdict::granted) {
      lose(due[i],
           claims ? Lost{Loss::stolen, "the job was cancelled, or its claim expired"}
                  : why_lost(connection, *due[i], replies[i], std::min(due[i]->believed_until(), enough)));
    }
  }
  LeaseStates failed;
  std::string why;
  for (std::size_t i = 0; i < due.size(); ++i) {
    if (has_answer(i)) continue;
    failed.push_back(due[i]);
    why = error_of(status, replies[i])->detail;
  }
  // A renewal without a reply is not a loss: until the deadline it is retried on a new connection.
  {
    const std::lock_guard lock(mutex);
    for (const auto& lease : failed) keeping.failed(lease->id, now, jitter.fraction());
  }
  if (!claims) {
    log_failures(trouble, failed, why);
  } else if (!status) {
    log_failures(claims->trouble, failed, why);
  } else {  // what some claims lack is no trouble of the others
    log_failures(claims->trouble, {}, "");
    for (std::size_t i = 0; i < due.size(); ++i) {
      if (replies[i].error) log_failed_claim(*due[i], replies[i].error->detail);
    }
  }
  report_renewals(due, status, replies);
}

void Keeper::State::log(LogLevel level, std::string_view text, std::initializer_list<LogField> fields) {
  telemetry->in_background([&] { telemetry->log(level, text, fields); });
}

// Logs each new cause once, and not each attempt.
void Keeper::State::log_failures(std::string& before, const LeaseStates& failed, const std::string& why) {
  if (std::exchange(before, why) == why) return;
  if (failed.empty()) return log(LogLevel::info, "renewing leases works again");
  if (failed.size() > 1)
    return log(LogLevel::warning,
               "cannot renew " + std::to_string(failed.size()) + " leases: " + why +
                   "; trying again until their deadlines",
               {{"error", why}});
  log_failed(*failed.front(), why);
}

// Enqueues of its key lock a job for a moment, again and again.  The renewal after that waits for the job, so
// it is logged only if that fails too, and once until a renewal succeeds.
void Keeper::State::log_failed_claim(LeaseState& claim, const std::string& why) {
  if (claim.failed_renewals > 1 && !std::exchange(claim.failure_logged, true)) log_failed(claim, why);
}

void Keeper::State::log_failed(const LeaseState& lease, const std::string& why) {
  log(LogLevel::warning,
      "cannot renew the lease on " + printable(lease.key) + ": " + why + "; trying again until its deadline",
      {{"key", lease.key},
       {"owner", lease.owner},
       {"token", std::to_string(to_number(lease.token))},
       {"error", why}});
}

// Called when all leases are settled: none of them waits for the observer.
void Keeper::State::report_renewals(const LeaseStates& due, const Status& status,
                                    std::span<const Reply> replies) {
  if (!telemetry->observes()) return;
  telemetry->in_background([&] {
    for (std::size_t i = 0; i < due.size(); ++i) {
      LeaseState& lease = *due[i];
      if (!lease.held() || lease.claim) continue;
      const LeaseEvent about = telemetry->about(lease);
      if (const Error* error = error_of(status, replies[i])) {
        telemetry->notify(&Observer::on_retry,
                          RetryEvent{about, RetryEvent::What::renew, lease.failed_renewals, *error});
      } else if (replies[i].verdict == Verdict::granted) {
        telemetry->notify(&Observer::on_renewed, RenewedEvent{about, lease.believed_until()});
      }
    }
  });
}

void Keeper::State::report_calls() {
  if (telemetry->observes()) telemetry->in_background([this] { telemetry->report_calls(); });
}

void Keeper::State::settle_renewed(const std::shared_ptr<LeaseState>& lease, const Reply& reply,
                                   Instant sent) {
  const std::lock_guard lock(mutex);
  const auto deadline = keeping.renewed(lease->id, sent, reply.remaining, BootClock::now());
  if (deadline) set_renewed(*lease, *deadline);
}

// When to purge next.
Instant Keeper::State::plan_purge(Instant now) {
  const std::lock_guard lock(mutex);
  const bool first = !std::exchange(first_purge_planned, true);
  if (purge_refused || purge_every == never) return Instant::max();
  return clamped_add(now, first ? core::scaled(purge_every, jitter.fraction()) : purge_every);
}

void Keeper::State::purge_if_due(Instant now) {
  if (!is_purge_planned()) next_purge = plan_purge(now);
  if (now < next_purge) return;
  next_purge = plan_purge(now);
  if (purge_refused || (purging.started() && !purging.ended())) return;
  purging.finish(0ms);
  try {
    purging = Worker([state = shared_from_this()] { state->purge(); });
  } catch (const std::system_error&) {  // no thread: at the next interval
  }
}

// Runs on a thread and a connection of its own, so that renewals do not wait for it.
void Keeper::State::purge() {
  const auto log_failure = [this](const std::string& why) {
    log(LogLevel::warning,
        "cannot purge free keys: " + why + (purge_refused ? "; not trying again" : "; trying again later"),
        {{"error", why}});
  };
  try {
    const auto purged = telemetry->measured(StoreOperation::purge, 0, [this] {
      return store->admin()->purge({}, clamped_add(BootClock::now(), one_keeper_purge));
    });
    report_calls();
    if (purged) return;
    purge_refused = !purged.error().retryable();
    log_failure(purged.error().detail);
  } catch (const std::exception& error) {
    log_failure(error.what());
  }
}

Instant Keeper::State::time_for_a_call(Instant now) {
  const std::lock_guard lock(mutex);
  return keeping.time_for_a_call(now);
}

// Nodes move from one map to the other, which needs no memory, so no release is forgotten when there is none.
void Keeper::State::send_pending_releases(StoreConnection& connection, Instant now) {
  PendingReleases due = take_pending_releases(now, releases_at_once.now());
  if (due.empty()) return;
  const std::size_t sent = due.size();
  bool well = false;
  guarded([&] { well = send_due_releases(connection, due); });
  if (!well) {  // the store does not answer, so the other due releases wait too; they come first then
    releases_at_once.failed(sent);
    send_again_later(take_pending_releases(now, std::numeric_limits<std::size_t>::max()), now);
  }
  send_again_later(std::move(due), now);
}

Keeper::PendingReleases Keeper::State::take_pending_releases(Instant now, std::size_t most) {
  PendingReleases taken;
  const std::lock_guard lock(mutex);
  while (!pending_releases.empty() && taken.size() < most &&
         (closed || pending_releases.begin()->first <= now))
    taken.insert(pending_releases.extract(pending_releases.begin()));
  return taken;
}

// Leaves in `due` the releases that have to be sent again.  False: no reply.
bool Keeper::State::send_due_releases(StoreConnection& connection, PendingReleases& due) {
  std::vector<Request> requests;
  std::vector<Reply> replies(due.size());
  for (const auto& [at, e] : due) {
    // If a thread of this process waits for the key by now, it takes over our place.
    const Millis place = e.place > 0ms && heir(e.key) ? 0ms : e.place;
    requests.push_back(
        {.verb = e.verb, .key = {e.key}, .owner = {e.owner}, .token = e.token, .place = place});
  }
  const Instant sent = BootClock::now();
  const Instant until = std::min(clamped_add(sent, one_pending_release), time_for_a_call(sent));
  const Status status = with_memory([&] { return connection.apply(requests, replies, until); });
  report_releases(due, status, replies);
  if (!status) return false;
  releases_at_once.answered(due.size(), std::chrono::floor<Millis>(until - sent), BootClock::now() - sent);
  auto e = due.begin();
  for (const Reply& reply : replies) {
    if (!reply.error) e->second.answered = true;
    const bool done = !reply.error && sent >= e->second.again;
    e = done ? due.erase(e) : std::next(e);
  }
  return true;
}

void Keeper::State::report_releases(PendingReleases& due, const Status& status,
                                    std::span<const Reply> replies) {
  if (!telemetry->observes() || is_closed()) return;
  telemetry->in_background([&] {
    auto reply = replies.begin();
    for (auto& [at, e] : due) {
      const Error* error = error_of(status, *reply++);
      if (!error || BootClock::now() >= e.give_up) continue;
      telemetry->notify(&Observer::on_retry, RetryEvent{telemetry->about({e.key}, {e.owner}, e.token),
                                                        RetryEvent::What::release, ++e.failures, *error});
    }
  });
}

void Keeper::State::send_again_later(PendingReleases due, Instant now) {
  const std::lock_guard lock(mutex);
  if (closed) return;  // the leases expire by themselves
  while (!due.empty()) {
    auto node = due.extract(due.begin());
    const PendingRelease& e = node.mapped();
    if (now >= e.give_up || is_held_again(e)) continue;
    node.key() = e.answered && now < e.again ? e.again : clamped_add(now, pending_release_pause);
    pending_releases.insert(std::move(node));
  }
}

}  // namespace holdfast
