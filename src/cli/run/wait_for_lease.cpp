// SPDX-License-Identifier: Apache-2.0
#include "cli/run/wait_for_lease.h"

#include <atomic>
#include <exception>
#include <memory>
#include <optional>
#include <stop_token>

#include "base/fd.h"
#include "base/worker.h"
#include "cli/connecting.h"
#include "cli/notices.h"
#include "cli/run/waiting_line.h"

namespace holdfast::cli {
namespace {

using namespace std::chrono_literals;

constexpr Millis patience = 1s;

// Shared with the thread that acquires.
struct Attempt {
  explicit Attempt(RunRequest w) : wish(std::move(w)) { wish.options.stop = stop.get_token(); }

  std::stop_source stop;
  RunRequest wish;
  Wakeup wakeup;
  std::optional<Result<Granted>> outcome;  // written before `done`, read after it
  std::atomic<bool> done = false;
};

Result<Granted> acquire(const RunRequest& wish) {
  auto store = try_store(wish.url);
  if (!store) return std::move(store).error();
  const WaitingLine line{Admin(*store), wish.key};
  AcquireOptions options = wish.options;
  Connecting connecting(options.wait.value_or(Millis::zero()), options.stop);
  auto client = connecting.reach([&] {
    ClientOptions how = with_notices(wish.quiet);
    how.connect_wait = connecting.for_opening();
    return Client::try_make(*store, std::move(how));
  });
  if (!client) return std::move(client).error();
  options.wait = connecting.left();
  auto lease = client->try_acquire(wish.key, options);
  if (!lease) return std::move(lease).error();
  if (wish.admit) {
    if (Status s = wish.admit(*client, *lease); !s) {
      (void)lease->try_release();
      return std::move(s).error();
    }
  }
  return Granted{*std::move(client), *std::move(lease)};
}

void work(Attempt& attempt) {
  try {
    attempt.outcome = acquire(attempt.wish);
  } catch (const std::exception& e) {  // out of memory or descriptors
    attempt.outcome = Error{Errc::unavailable, e.what()};
  }
  attempt.done = true;
  attempt.wakeup.ring();
}

// The signal that ends the wait, if one came.
int ending_signal(Signals& signals) {
  while (const auto signal = signals.next()) {
    switch (meaning_of(*signal)) {
      case Meaning::ends: return *signal;
      case Meaning::stops: Signals::stop_own_group(); break;
      case Meaning::passes:
      case Meaning::continues:
      case Meaning::child: break;
    }
  }
  return 0;
}

}  // namespace

Waited wait_for_lease(RunRequest wish, Signals& signals) {
  const auto attempt = std::make_shared<Attempt>(std::move(wish));
  Worker worker([attempt] { work(*attempt); });

  int signal = 0;
  while (!attempt->done && signal == 0) {
    attempt->wakeup.wait(Instant::max(), signals.fd());
    signal = ending_signal(signals);
  }
  const bool typed = signals.was_typed();
  if (signal != 0) {
    attempt->stop.request_stop();
    const Instant enough = clamped_add(BootClock::now(), patience);
    while (!attempt->done && BootClock::now() < enough && ending_signal(signals) == 0) {
      attempt->wakeup.wait(enough, signals.fd());
    }
    // By hand: a detached lease would outlive its object.  Not by a name that was given: somebody may have
    // held it before by that name.
    if (attempt->done && *attempt->outcome && !attempt->wish.options.owner)
      (void)(*attempt->outcome)->lease.try_release();
    return Interrupted{signal, typed};
  }
  worker.finish(patience);
  if (!*attempt->outcome) return std::move(*attempt->outcome).error();
  return **std::move(attempt->outcome);
}

}  // namespace holdfast::cli
