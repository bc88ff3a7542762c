// SPDX-License-Identifier: Apache-2.0
#include "sim/actor.h"

#include "sim/attempt.h"

namespace holdfast::sim {
namespace {

using namespace std::chrono_literals;

Instant in(Process& process, Micros least, Micros most) {
  return process.now() + process.scene().dice.spread(least, most);
}

Task<> renew_by_hand(Process& process, std::shared_ptr<Lease> lease) {
  Scene& scene = process.scene();
  const bool extend = scene.dice.chance(0.3);
  const Millis longest = extend ? Millis(1s) : scene.plan.longest_ttl;
  const bool as_before = !extend && scene.dice.chance(0.5);
  const Millis ttl = as_before
                         ? lease->ttl
                         : std::chrono::floor<Millis>(scene.dice.spread(scene.plan.shortest_ttl, longest));
  co_await process.renew(lease, ttl, extend);
}

// Until it has had enough of it, or has lost it.
Task<> hold(Process& process, std::shared_ptr<Lease> lease) {
  Scene& scene = process.scene();
  Doze doze = process.doze();
  const bool to_the_end = scene.dice.chance(0.2);
  const Micros longest = scene.calm() ? 200ms : std::min<Micros>(lease->ttl * 3, 9s);
  const Instant enough = in(process, to_the_end ? longest : 1ms, longest);
  while (process.held(*lease) && process.now() < enough) {
    const Instant next = std::min(enough, in(process, 1ms, scene.calm() ? 200ms : 2s));
    co_await doze.until(next);
    if (scene.calm()) break;
    if (!process.held(*lease)) break;
    if (!to_the_end && scene.dice.chance(0.4)) co_await renew_by_hand(process, lease);
  }
}

}  // namespace

Task<> work(Process& process) {
  Scene& scene = process.scene();
  Doze doze = process.doze();
  while (true) {
    const Instant next = in(process, scene.calm() ? 50ms : 1ms, scene.calm() ? 2s : 1500ms);
    co_await doze.until(next);
    if (scene.closing()) co_return;
    const Wants wants = draw_wants(scene);
    std::shared_ptr<Lease> lease;
    {
      Attempt attempt(process, wants);
      lease = co_await attempt.run();
    }
    if (!lease) continue;
    co_await hold(process, lease);
    if (scene.dice.chance(0.6))
      co_await process.release(lease);
    else
      co_await process.let_go(lease);
  }
}

}  // namespace holdfast::sim
