// SPDX-License-Identifier: Apache-2.0
#include "sim/beliefs.h"

#include <algorithm>

namespace holdfast::sim {

void Beliefs::believes(AttemptId attempt_id, int key, Timeline::Owner process, True until) {
  std::erase_if(windows_,
                [&](const Window& w) { return w.attempt_id != attempt_id && w.until <= context_.now(); });
  auto mine = std::find_if(windows_.begin(), windows_.end(),
                           [&](const Window& w) { return w.attempt_id == attempt_id; });
  if (mine == windows_.end()) mine = windows_.insert(windows_.end(), {attempt_id, key, process, until});
  mine->until = until;
  if (excused_.contains(attempt_id) || until <= context_.now()) return;
  for (const Window& other : windows_) {
    if (other.key != key || other.attempt_id == attempt_id || excused_.contains(other.attempt_id)) continue;
    context_.violated("exclusive windows", "k" + std::to_string(key) + ": attempt " +
                                               std::to_string(attempt_id) + " and attempt " +
                                               std::to_string(other.attempt_id) +
                                               " count it as held at the same time");
  }
}

void Beliefs::ends(AttemptId attempt_id) {
  std::erase_if(windows_, [&](const Window& w) { return w.attempt_id == attempt_id; });
}

void Beliefs::process_died(Timeline::Owner process) {
  std::erase_if(windows_, [&](const Window& w) { return w.process == process; });
}

bool Beliefs::believed(AttemptId attempt_id) const {
  return std::any_of(windows_.begin(), windows_.end(),
                     [&](const Window& w) { return w.attempt_id == attempt_id && w.until > context_.now(); });
}

}  // namespace holdfast::sim
