// SPDX-License-Identifier: Apache-2.0
// plan.h - what one seed makes of the world.
#pragma once
#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "holdfast/clock.h"
#include "sim/clocks.h"
#include "sim/names.h"

namespace holdfast::sim {

// Of a seed's life: first chaos, then calm, in which everybody who waits must be served; then nobody
// asks for anything new, and in the end nothing may be left.
struct Plan {
  std::uint64_t seed = 0;
  int processes = 0;
  int threads = 0;  // in each process, at most
  int keys = 0;
  bool jobs = false;  // each process has a worker, and some enqueue jobs
  True calm_from{}, closing_from{}, end{};
  Millis place{};          // ClientOptions::place of everybody
  int store_ppm = 0;       // how wrong the store's clock runs
  int client_ppm = 0;      // each client's clock is at most so wrong, in the other direction
  Micros longest_delay{};  // of a message that is not slow
  Millis shortest_ttl{}, longest_ttl{};
  std::array<double, static_cast<std::size_t>(Fault::end_)> probability{};  // zero: off

  double of(Fault fault) const { return probability[static_cast<std::size_t>(fault)]; }
};

Plan plan_for(std::uint64_t seed);
std::string to_string(const Plan& plan);

}  // namespace holdfast::sim
