// SPDX-License-Identifier: Apache-2.0
#include "sim/timeline.h"

#include <cassert>
#include <utility>

namespace holdfast::sim {

Timeline::Owner Timeline::add_owner() {
  owners_.emplace_back();
  return owners_.size() - 1;
}

void Timeline::at(True when, Owner owner, std::function<void()> what) {
  assert(when >= now_);
  if (when == never_comes) return;
  if (free_whats_.empty()) {
    free_whats_.push_back(static_cast<std::uint32_t>(whats_.size()));
    whats_.emplace_back();
  }
  const std::uint32_t slot = free_whats_.back();
  free_whats_.pop_back();
  whats_[slot] = std::move(what);
  events_.push({when, planned_++, owner, slot});
}

void Timeline::pause(Owner owner) {
  if (!owners_[owner].dead) owners_[owner].paused = true;
}

void Timeline::go_on(Owner owner) {
  OwnerState& process = owners_[owner];
  if (!std::exchange(process.paused, false)) return;
  process.went_on = now_;
  for (auto& what : process.backlog) at(now_, owner, std::move(what));
  process.backlog.clear();
}

bool Timeline::step(True end) {
  if (events_.empty() || events_.top().when > end) {
    now_ = end;
    return false;
  }
  const Event event = events_.top();
  events_.pop();
  const std::function<void()> what = std::exchange(whats_[event.what], nullptr);
  free_whats_.push_back(event.what);
  now_ = event.when;
  OwnerState& process = owners_[event.owner];
  if (process.paused) {
    process.backlog.push_back(what);
    return true;
  }
  ++steps_;
  what();
  return true;
}

}  // namespace holdfast::sim
