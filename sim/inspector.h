// SPDX-License-Identifier: Apache-2.0
// inspector.h - what must be true once the faults have stopped: everybody is served, nothing is left behind.
#pragma once
#include <map>
#include <memory>

#include "sim/process.h"

namespace holdfast::sim {

using Processes = std::map<Timeline::Owner, std::unique_ptr<Process>>;

class Inspector {
 public:
  // The last message that was stuck when the faults stopped has arrived by then.
  static constexpr Millis patience = std::chrono::seconds(13);

  Inspector(RunContext& context, Server& server, Ledger& ledger, const Processes& processes)
      : context_(context), server_(server), ledger_(ledger), processes_(processes) {}

  void inspect();
  void inspect_at_the_end();

 private:
  void nobody_waits_too_long();
  void no_ghost(int key);
  void no_place_left_behind(int key);

  RunContext& context_;
  Server& server_;
  Ledger& ledger_;
  const Processes& processes_;
};

}  // namespace holdfast::sim
