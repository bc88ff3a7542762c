// SPDX-License-Identifier: Apache-2.0
#include "sim/beliefs.h"

#include <algorithm>

namespace holdfast::sim {

void Beliefs::believes(RunRequest wish, int key, Timeline::Owner process, True until) {
  std::erase_if(windows_, [&](const Window& w) { return w.wish != wish && w.until <= context_.now(); });
  auto mine = std::find_if(windows_.begin(), windows_.end(), [&](const Window& w) { return w.wish == wish; });
  if (mine == windows_.end()) mine = windows_.insert(windows_.end(), {wish, key, process, until});
  mine->until = until;
  if (excused_.contains(wish) || until <= context_.now()) return;
  for (const Window& other : windows_) {
    if (other.key != key || other.wish == wish || excused_.contains(other.wish)) continue;
    context_.violated("exclusive windows", "k" + std::to_string(key) + ": request " + std::to_string(wish) +
                                               " and request " + std::to_string(other.wish) +
                                               " count it as held at the same time");
  }
}

void Beliefs::ends(RunRequest wish) {
  std::erase_if(windows_, [&](const Window& w) { return w.wish == wish; });
}

void Beliefs::process_died(Timeline::Owner process) {
  std::erase_if(windows_, [&](const Window& w) { return w.process == process; });
}

bool Beliefs::believed(RunRequest wish) const {
  return std::any_of(windows_.begin(), windows_.end(),
                     [&](const Window& w) { return w.wish == wish && w.until > context_.now(); });
}

}  // namespace holdfast::sim
