// SPDX-License-Identifier: Apache-2.0
// The keeper's thread that does no I/O: it tells of jeopardy and loss on time.
#include "base/duration.h"
#include "client/keeper_state.h"
#include "client/tell.h"

namespace holdfast {
namespace {

using namespace std::chrono_literals;

constexpr Millis slow = 10ms;  // for a stop_callback: all leases wait for it

Lost ran_out() { return {Loss::unreachable, "its deadline passed and no renewal had been confirmed"}; }

}  // namespace

void Keeper::State::alarm() {
  while (true) {
    Holds lost, jeopardy;
    Instant next;
    {
      const std::lock_guard lock(mutex);
      if (closed) return;
      lost.swap(told);
      for (const auto& [id, is_lost] : keeping.look(BootClock::now())) {
        const auto hold = holds.at(id);
        (is_lost ? lost : jeopardy).push_back(hold);
        if (is_lost) holds.erase(id);
      }
      next = keeping.next_alarm();
      alarm_sleeps_until = next;
    }
    for (const auto& hold : jeopardy) {
      const std::lock_guard lock(hold->mutex);
      hold->in_jeopardy = true;
      if (hold->on_jeopardy) callbacks->run(hold->on_jeopardy);
    }
    for (const auto& hold : lost) {
      if (hold->lose(ran_out()) || hold->phase.load() == Hold::Phase::lost) announce(hold);
    }
    lost.clear();  // perhaps the last reference to a lease: not while asleep
    jeopardy.clear();
    alarm_wakeup.wait(next);
    const std::lock_guard lock(mutex);
    alarm_sleeps_until = Instant::min();
  }
}

void Keeper::State::announce(const std::shared_ptr<Hold>& hold) {
  const Instant start = BootClock::now();
  hold->end().request_stop();  // runs the holder's stop_callbacks, here
  const auto took = std::chrono::floor<Millis>(BootClock::now() - start);
  if (took > slow)
    log("a stop_callback of the lease on " + hold->key + " took " + format_duration(took) +
        "; it must be short");
  const std::lock_guard lock(hold->mutex);
  hold->announced = true;
  if (hold->on_lost) callbacks->run([f = hold->on_lost, lost = hold->lost] { f(lost); });
}

void Keeper::State::lose(const std::shared_ptr<Hold>& hold, Lost lost) {
  if (!hold->lose(std::move(lost))) return;
  const std::lock_guard lock(mutex);
  keeping.remove(hold->id);
  holds.erase(hold->id);
  told.push_back(hold);
  alarm_wakeup.ring();
}

// REQUIRES: mutex is held.
void Keeper::State::tell_renewed(Hold& hold, Instant deadline) {
  hold.deadline.store(deadline.time_since_epoch().count(), std::memory_order_release);
  const std::lock_guard lock(hold.mutex);
  hold.in_jeopardy = false;
  if (hold.on_renewed) callbacks->run([f = hold.on_renewed, deadline] { f(deadline); });
}

void Keeper::State::close() {
  const std::lock_guard lock(mutex);
  closed = true;
  pulse_wakeup.ring();
  alarm_wakeup.ring();
}

// One line at a time, and unlocked: whoever ends the client may hold what the user's function waits for.
void Keeper::State::log(std::string_view line) {
  std::unique_lock lock(log_mutex);
  logged.wait(lock, [this] { return silent || logging == std::thread::id(); });
  if (silent) return;
  logging = std::this_thread::get_id();
  lock.unlock();
  tell(options, line);
  lock.lock();
  logging = {};
  logged.notify_all();
}

void Keeper::State::be_silent(Millis patience) {
  std::unique_lock lock(log_mutex);
  silent = true;
  logged.notify_all();
  logged.wait_for(lock, patience,
                  [this] { return logging == std::thread::id() || logging == std::this_thread::get_id(); });
}

}  // namespace holdfast
