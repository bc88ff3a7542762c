// SPDX-License-Identifier: Apache-2.0
// The keeper's thread that does no I/O: it tells of jeopardy and loss on time.
#include "base/text.h"
#include "base/time.h"
#include "client/keeper_state.h"

namespace holdfast {
namespace {

using namespace std::chrono_literals;

constexpr Millis early = 1ms;  // the stop is requested before the deadline, at which held() turns false
constexpr Millis patience_with_deadline_thread = 100ms;
constexpr Millis slow = 10ms;  // for a stop_callback: all leases wait for it

Lost ran_out() { return {Loss::unreachable, "its deadline passed and no renewal had been confirmed"}; }

}  // namespace

void Keeper::State::deadline_thread() {
  while (true) {
    tell_again();
    const bool well = guarded([this] {
      while (tell_next()) {
      }
    });
    Instant next;
    {
      const std::lock_guard lock(mutex);
      if (closed) break;
      next = keeping.next_event();
      if (next != Instant::max()) next -= early;
      if (!well || untold) next = clamped_add(BootClock::now(), without_memory);
      deadline_thread_sleeps_until = next;
    }
    deadline_wakeup.wait(next);
    const std::lock_guard lock(mutex);
    deadline_thread_sleeps_until = Instant::min();
  }
  while (untold) untold = std::move(untold->next_untold);
}

// One at a time, so that nobody is forgotten where there is no memory for a list.  False: there is none.
bool Keeper::State::tell_next() {
  std::shared_ptr<LeaseState> lease;
  bool lost = true;
  {
    const std::lock_guard lock(mutex);
    if (closed) return false;
    if (!to_announce.empty()) {
      lease = std::move(to_announce.front());
      to_announce.pop_front();
    } else if (const auto next = keeping.take_events(BootClock::now() + early, 1); !next.empty()) {
      const auto known = leases.find(next[0].id);
      lease = known->second;
      lost = next[0].lost;
      if (lost) leases.erase(known);
    } else {
      return false;
    }
  }
  if (lost) {
    tell_of_loss(lease);
    return true;
  }
  const std::lock_guard lock(lease->mutex);
  lease->in_jeopardy = true;
  if (lease->on_jeopardy) callbacks->run(lease->on_jeopardy);
  if (observes(*lease))
    report_later([lease](Telemetry& to) { to.notify(&Observer::on_jeopardy, to.about(*lease)); });
  return true;
}

void Keeper::State::tell_of_loss(const std::shared_ptr<LeaseState>& lease) noexcept {
  // Without memory for the sentence it is lost all the same.
  if (!guarded([&] { lease->begin_loss(ran_out()); })) lease->begin_loss({Loss::unreachable, {}});
  if (!lease->is_losing()) return;
  finish_loss(*lease);
  if (lease->phase.load() != LeaseState::Phase::lost) return;  // a callback has released it
  if (guarded([&] { announce(lease); })) return;
  lease->next_untold = std::move(untold);
  untold = lease;
}

void Keeper::State::tell_again() {
  for (auto lease = std::move(untold); lease;) {
    const auto next = std::move(lease->next_untold);
    tell_of_loss(lease);
    lease = next;
  }
}

// Runs the holder's stop_callbacks, on this thread.
void Keeper::State::finish_loss(LeaseState& lease) noexcept {
  const Instant start = BootClock::now();
  const bool requested = lease.end().request_stop();
  const auto took = std::chrono::floor<Millis>(BootClock::now() - start);
  {
    const std::lock_guard lock(mutex);
    lease.finish_loss();
  }
  loss_finished.notify_all();
  if (!requested || took <= slow) return;
  if (!telemetry->logs()) return;
  guarded([&] {
    callbacks->get_ready();
    report_later([key = lease.key, took](Telemetry& to) {
      to.log(LogLevel::warning,
             "a stop_callback of the lease on " + printable(key) + " took " + format_duration(took) +
                 ": all other leases wait for it; make it shorter",
             {{"key", key}});
    });
  });
}

void Keeper::State::announce(const std::shared_ptr<LeaseState>& lease) {
  const std::lock_guard lock(lease->mutex);
  if (lease->announced) return;
  if (lease->on_lost) callbacks->run([f = lease->on_lost, lost = lease->lost] { f(lost); });
  lease->announced = true;
  if (!observes(*lease)) return;
  guarded([&] {
    report_later([lease, lost = lease->lost](Telemetry& to) {
      to.notify(&Observer::on_lost, LostEvent{to.about(*lease), lost});
    });
  });
}

void Keeper::State::lose(const std::shared_ptr<LeaseState>& lease, Lost why) {
  const std::lock_guard lock(mutex);
  to_announce.push_back(lease);  // first: it may throw
  if (!lease->begin_loss(std::move(why))) return to_announce.pop_back();
  keeping.remove(lease->id);
  leases.erase(lease->id);
  deadline_wakeup.ring();
}

// The deadline thread may be busy with somebody's slow callback.
void Keeper::State::await_loss(LeaseState& lease) {
  const auto is_over = [&] { return lease.phase.load() != LeaseState::Phase::held; };
  {
    std::unique_lock lock(mutex);
    if (loss_finished.wait_for(lock, patience_with_deadline_thread, is_over)) return;
  }
  if (lease.is_losing()) finish_loss(lease);
}

// REQUIRES: mutex is held.
void Keeper::State::report_renewed(LeaseState& lease, Instant deadline) {
  lease.deadline.store(deadline.time_since_epoch().count(), std::memory_order_release);
  const std::lock_guard lock(lease.mutex);
  lease.in_jeopardy = false;
  if (lease.on_renewed) callbacks->run([f = lease.on_renewed, deadline] { f(deadline); });
}

void Keeper::State::close() {
  const std::lock_guard lock(mutex);
  closed = true;
  renewal_wakeup.ring();
  deadline_wakeup.ring();
}

void Keeper::State::log(LogLevel level, std::string_view text, std::initializer_list<LogField> fields) {
  telemetry->in_background([&] { telemetry->log(level, text, fields); });
}

void Keeper::State::report_later(std::function<void(Telemetry&)> report) {
  callbacks->run([to = telemetry, report = std::move(report)] { to->in_background([&] { report(*to); }); });
}

}  // namespace holdfast
