// SPDX-License-Identifier: Apache-2.0
#include "sim/actor.h"

#include "sim/attempt.h"

namespace holdfast::sim {
namespace {

using namespace std::chrono_literals;

Instant in(Process& process, Micros least, Micros most) {
  return process.now() + process.context().dice.spread(least, most);
}

Task<> renew_by_hand(Process& process, std::shared_ptr<Lease> lease) {
  RunContext& context = process.context();
  const bool extend = context.dice.chance(0.3);
  const Millis longest = extend ? Millis(1s) : context.plan.longest_ttl;
  const bool as_before = !extend && context.dice.chance(0.5);
  const Millis ttl =
      as_before ? lease->ttl
                : std::chrono::floor<Millis>(context.dice.spread(context.plan.shortest_ttl, longest));
  (void)co_await process.renew(lease, ttl, extend);
}

// Until it has had enough of it, or has lost it.
Task<> hold(Process& process, std::shared_ptr<Lease> lease) {
  RunContext& context = process.context();
  Doze doze = process.doze();
  const bool to_the_end = context.dice.chance(0.2);
  const Micros longest = context.calm() ? 200ms : std::min<Micros>(lease->ttl * 3, 9s);
  const Instant enough = in(process, to_the_end ? longest : 1ms, longest);
  while (process.held(*lease) && process.now() < enough) {
    const Instant next = std::min(enough, in(process, 1ms, context.calm() ? 200ms : 2s));
    co_await doze.until(next);
    if (context.calm()) break;
    if (!process.held(*lease)) break;
    if (!to_the_end && context.dice.chance(0.4)) co_await renew_by_hand(process, lease);
  }
}

}  // namespace

Task<> work(Process& process) {
  RunContext& context = process.context();
  Doze doze = process.doze();
  while (true) {
    const Instant next = in(process, context.calm() ? 50ms : 1ms, context.calm() ? 2s : 1500ms);
    co_await doze.until(next);
    if (context.closing()) co_return;
    const Wants wants = draw_wants(context);
    std::shared_ptr<Lease> lease;
    {
      Attempt attempt(process, wants);
      lease = co_await attempt.run();
    }
    if (!lease) continue;
    co_await hold(process, lease);
    if (context.dice.chance(0.6))
      co_await process.release(lease);
    else
      co_await process.let_go(lease);
  }
}

}  // namespace holdfast::sim
