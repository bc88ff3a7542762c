// SPDX-License-Identifier: Apache-2.0
#include "sim/plan.h"

#include <cstdio>

#include "sim/dice.h"

namespace holdfast::sim {
namespace {

using namespace std::chrono_literals;

// Together just within the margin's one percent.
constexpr int most_ppm = 4990;

// Of each message, ring or attempt; of processes and the store: in each tenth of a second.
double highest(Fault fault) {
  switch (fault) {
    case Fault::slow_message: return 0.3;
    case Fault::stuck_message: return 0.08;
    case Fault::lost_request: return 0.1;
    case Fault::lost_reply: return 0.1;
    case Fault::doubled_request: return 0.1;
    case Fault::refused_connection: return 0.1;
    case Fault::reset_connection: return 0.08;
    case Fault::hung_client: return 0.03;
    case Fault::hung_store: return 0.01;
    case Fault::lost_ring: return 0.7;
    case Fault::late_ring: return 0.5;
    case Fault::doubled_ring: return 0.5;
    case Fault::paused_process: return 0.05;
    case Fault::killed_process: return 0.03;
    case Fault::stepped_wall_clock: return 0.1;
    case Fault::broken_lease: return 0.02;
    case Fault::purge: return 0.1;
    case Fault::end_: break;
  }
  return 0;
}

}  // namespace

Plan plan_for(std::uint64_t seed) {
  Dice dice(seed ^ 0x9C15DA57ULL);
  Plan plan{.seed = seed};
  plan.processes = dice.between(2, 6);
  plan.threads = dice.between(1, 4);
  plan.keys = dice.between(1, 3);
  plan.calm_from = dice.between(8s, 30s);
  plan.closing_from = plan.calm_from + 12s;
  plan.place = std::chrono::floor<Millis>(dice.spread(600ms, 3s));
  if (dice.chance(0.7)) {
    const int sign = dice.chance(0.5) ? 1 : -1;
    plan.store_ppm = sign * (dice.chance(0.5) ? most_ppm : dice.between(0, most_ppm));
    plan.client_ppm = -sign * (dice.chance(0.5) ? most_ppm : dice.between(0, most_ppm));
  }
  plan.longest_delay = dice.spread(100us, 15ms);
  plan.shortest_ttl = 200ms;
  plan.longest_ttl = std::chrono::floor<Millis>(dice.spread(500ms, 30s));
  plan.end = plan.closing_from + plan.longest_ttl * 2 + 90s;
  for (const Fault fault : all<Fault>) {
    const bool on = dice.chance(0.5);
    const double share = dice.fraction();
    plan.probability[static_cast<std::size_t>(fault)] = on ? highest(fault) * share : 0;
  }
  plan.jobs = dice.chance(0.3);
  // A job is due by the wall clock: after a step it would be due an hour later.
  if (plan.jobs) plan.probability[static_cast<std::size_t>(Fault::stepped_wall_clock)] = 0;
  return plan;
}

std::string to_string(const Plan& plan) {
  const auto ms = [](auto d) { return std::to_string(std::chrono::floor<Millis>(d).count()) + "ms"; };
  std::string text = "processes " + std::to_string(plan.processes) + ", threads up to " +
                     std::to_string(plan.threads) + ", keys " + std::to_string(plan.keys) +
                     (plan.jobs ? ", jobs" : "") + ", calm from " + ms(plan.calm_from) + ", ttl " +
                     ms(plan.shortest_ttl) + " to " + ms(plan.longest_ttl) + ", place " + ms(plan.place) +
                     ", store " + std::to_string(plan.store_ppm) + " ppm, clients " +
                     std::to_string(plan.client_ppm) + " ppm\n";
  for (const Fault fault : all<Fault>) {
    if (plan.of(fault) == 0) continue;
    char line[80];
    std::snprintf(line, sizeof line, "  %-20s %5.2f %%\n", to_string(fault), plan.of(fault) * 100);
    text += line;
  }
  return text;
}

}  // namespace holdfast::sim
