// SPDX-License-Identifier: Apache-2.0
// beliefs.h - checks that the windows in which holders believe in a lease on one key never overlap in true
// time.  A window begins when the caller has its lease and ends when its own clock passes the deadline, or
// when it begins to release or hears that it lost.
#pragma once
#include <set>
#include <vector>

#include "sim/message.h"
#include "sim/run_context.h"

namespace holdfast::sim {

class Beliefs {
 public:
  explicit Beliefs(RunContext& context) : context_(context) {}

  // Begins to believe, or believes longer.
  void believes(AttemptId attempt_id, int key, Timeline::Owner process, True until);
  void ends(AttemptId attempt_id);
  // An operator took it away: what its holder believes from now on is no promise of ours.
  void excuse(AttemptId attempt_id) { excused_.insert(attempt_id); }
  void process_died(Timeline::Owner process);
  bool believed(AttemptId attempt_id) const;

 private:
  struct Window {
    AttemptId attempt_id;
    int key;
    Timeline::Owner process;
    True until;
  };
  RunContext& context_;
  std::vector<Window> windows_;
  std::set<AttemptId> excused_;
};

}  // namespace holdfast::sim
