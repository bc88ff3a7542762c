// SPDX-License-Identifier: Apache-2.0
#include "sim/wants.h"

namespace holdfast::sim {

using namespace std::chrono_literals;

namespace {

Millis some(RunContext& context, Millis lo, Millis hi) {
  return std::chrono::floor<Millis>(context.dice.spread(lo, hi));
}

}  // namespace

AcquireOptions Wants::options(AttemptId attempt_id, std::stop_token stop) const {
  AcquireOptions options{.ttl = ttl,
                         .wait = wait,
                         .stop = std::move(stop),
                         .note = std::to_string(attempt_id),
                         .attempts = attempts,
                         .fair = fair,
                         .keep = keep,
                         .renew_every = renew_every,
                         .max_renewals = max_renewals};
  if (ttl == never) options.ttl = never;
  if (wait == forever) options.wait = forever;
  if (detached) options.detached = true;
  if (interval > 0ms) options.interval = interval;
  if (stranger) options.owner = name(attempt_id);
  return options;
}

Wants draw_wants(RunContext& context) {
  Dice& dice = context.dice;
  Wants wants{.key = dice.between(0, context.plan.keys - 1), .stranger = dice.chance(0.05)};
  wants.ttl = some(context, context.plan.shortest_ttl, context.plan.longest_ttl);
  if (dice.chance(0.02)) wants.ttl = Millis(never);
  wants.detached = dice.chance(0.05);
  wants.fair = dice.chance(0.85);
  const double how = dice.fraction();
  if (how < 0.4)
    wants.wait = Millis(forever);
  else if (how < 0.75)
    wants.wait = some(context, 5ms, 5s);
  if (dice.chance(0.12)) wants.attempts = dice.between(1, 5);
  if ((wants.attempts > 0 || wants.wait > 0ms) && dice.chance(0.1))
    wants.interval = some(context, 10ms, 500ms);
  wants.keep = dice.chance(0.75);
  if (dice.chance(0.1) && wants.ttl != never) wants.renew_every = wants.ttl / dice.between(2, 10);
  if (dice.chance(0.1)) wants.max_renewals = dice.between(0, 5);
  return wants;
}

}  // namespace holdfast::sim
