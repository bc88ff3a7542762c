// SPDX-License-Identifier: Apache-2.0
// arguments.h - what the simulator is asked to do.
//
//   holdfast_sim                          1,000 seeds from a random one, which is printed
//   holdfast_sim SEED [--trace]           that seed; with --trace all its events
//   holdfast_sim --seeds N [--from SEED]  N seeds from there on
//   ... [--mutant NAME]                   with a deliberate mistake built in
//   ... [--less WORDS]                    without these faults, with fewer processes, threads or keys
#pragma once
#include <cstdint>
#include <string>

#include "sim/names.h"
#include "sim/shrink.h"

namespace holdfast::sim {

struct Arguments {
  std::uint64_t from = 0;
  std::uint64_t seeds = 1000;  // zero: `from` alone, in detail
  Mutant mutant = Mutant::none;
  bool trace = false;
  Less less = {};
};

// Empty, or what is wrong, as a sentence.
std::string parse(int argc, const char* const* argv, Arguments& arguments);

}  // namespace holdfast::sim
