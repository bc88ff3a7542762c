// SPDX-License-Identifier: Apache-2.0
#include "sim/wants.h"

namespace holdfast::sim {

using namespace std::chrono_literals;

namespace {

Millis some(RunContext& context, Millis lo, Millis hi) {
  return std::chrono::floor<Millis>(context.dice.spread(lo, hi));
}

}  // namespace

Wants draw_wants(RunContext& context) {
  Dice& dice = context.dice;
  Wants wants{.key = dice.between(0, context.plan.keys - 1), .terms = {}, .stranger = dice.chance(0.05)};
  core::Terms& terms = wants.terms;
  terms.ttl = some(context, context.plan.shortest_ttl, context.plan.longest_ttl);
  terms.fair = dice.chance(0.85);
  const double how = dice.fraction();
  if (how < 0.4)
    terms.wait = Millis(forever);
  else if (how < 0.75)
    terms.wait = some(context, 5ms, 5s);
  if (dice.chance(0.12)) terms.attempts = dice.between(1, 5);
  if ((terms.attempts > 0 || terms.wait > 0ms) && dice.chance(0.1))
    terms.interval = some(context, 10ms, 500ms);
  terms.keep = dice.chance(0.75);
  if (dice.chance(0.1)) terms.renew_every = terms.ttl / dice.between(2, 10);
  if (dice.chance(0.1)) terms.max_renewals = dice.between(0, 5);
  return wants;
}

}  // namespace holdfast::sim
