// SPDX-License-Identifier: Apache-2.0
#include "sim/wants.h"

namespace holdfast::sim {

using namespace std::chrono_literals;

namespace {

Millis some(Scene& scene, Millis lo, Millis hi) {
  return std::chrono::floor<Millis>(scene.dice.spread(lo, hi));
}

}  // namespace

Wants draw_wants(Scene& scene) {
  Dice& dice = scene.dice;
  Wants wants{.key = dice.between(0, scene.plan.keys - 1), .options = {}, .stranger = dice.chance(0.05)};
  AcquireOptions& options = wants.options;
  options.ttl = some(scene, scene.plan.shortest_ttl, scene.plan.longest_ttl);
  options.fair = dice.chance(0.85);
  const double how = dice.fraction();
  if (how < 0.4)
    options.wait = forever;
  else if (how < 0.75)
    options.wait = some(scene, 5ms, 5s);
  if (dice.chance(0.12)) options.attempts = dice.between(1, 5);
  if ((options.attempts > 0 || options.wait > 0ms) && dice.chance(0.1))
    options.interval = some(scene, 10ms, 500ms);
  options.keep = dice.chance(0.75);
  if (dice.chance(0.1)) options.renew_every = options.ttl / dice.between(2, 10);
  if (dice.chance(0.1)) options.max_renewals = dice.between(0, 5);
  return wants;
}

}  // namespace holdfast::sim
