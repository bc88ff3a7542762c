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
    tell_again();
    const bool well = guarded([this] {
      while (tell_next()) {
      }
    });
    Instant next;
    {
      const std::lock_guard lock(mutex);
      if (closed) break;
      next = keeping.next_alarm();
      if (!well || untold) next = after(BootClock::now(), without_memory);
      alarm_sleeps_until = next;
    }
    alarm_wakeup.wait(next);
    const std::lock_guard lock(mutex);
    alarm_sleeps_until = Instant::min();
  }
  while (untold) untold = std::move(untold->next_untold);
}

// One at a time, so that nobody is forgotten where there is no memory for a list.  False: there is none.
bool Keeper::State::tell_next() {
  std::shared_ptr<Hold> hold;
  bool lost = true;
  {
    const std::lock_guard lock(mutex);
    if (closed) return false;
    if (!told.empty()) {
      hold = std::move(told.front());
      told.pop_front();
    } else if (const auto next = keeping.look(BootClock::now(), 1); !next.empty()) {
      const auto known = holds.find(next[0].id);
      hold = known->second;
      lost = next[0].lost;
      if (lost) holds.erase(known);
    } else {
      return false;
    }
  }
  if (lost) {
    tell_of_loss(hold);
    return true;
  }
  const std::lock_guard lock(hold->mutex);
  hold->in_jeopardy = true;
  if (hold->on_jeopardy) callbacks->run(hold->on_jeopardy);
  return true;
}

void Keeper::State::tell_of_loss(const std::shared_ptr<Hold>& hold) noexcept {
  // Without memory for the sentence it is lost all the same.
  if (!guarded([&] { hold->lose(ran_out()); })) hold->lose({Loss::unreachable, {}});
  if (hold->phase.load() != Hold::Phase::lost) return;
  if (guarded([&] { announce(hold); })) return;
  hold->next_untold = std::move(untold);
  untold = hold;
}

void Keeper::State::tell_again() {
  for (auto hold = std::move(untold); hold;) {
    const auto next = std::move(hold->next_untold);
    tell_of_loss(hold);
    hold = next;
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
  if (hold->on_lost) callbacks->run([f = hold->on_lost, lost = hold->lost] { f(lost); });
  hold->announced = true;
}

void Keeper::State::lose(const std::shared_ptr<Hold>& hold, Lost lost) {
  const std::lock_guard lock(mutex);
  told.push_back(hold);  // first: it may throw
  if (!hold->lose(std::move(lost))) return told.pop_back();
  keeping.remove(hold->id);
  holds.erase(hold->id);
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
