// SPDX-License-Identifier: Apache-2.0
// record.h - a run for programs, as JSON, and for people, as a table.
#pragma once
#include <string>

#include "bench/machine.h"
#include "bench/workload.h"

namespace holdfast::bench {

struct Run {
  Machine machine;
  Effort effort;
  struct Done {
    std::string name, sentence, store;
    Report report;
    double seconds = 0;
  };
  std::vector<Done> workloads;
  struct Skipped {
    std::string name, why;
  };
  std::vector<Skipped> skipped = {};
};

// The text of bench.json.
std::string to_json(const Run& run);

// One workload's lines.
std::string to_table(const Run::Done& done);
std::string to_table(const Run::Skipped& skipped);

}  // namespace holdfast::bench
