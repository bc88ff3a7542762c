// SPDX-License-Identifier: Apache-2.0
#include "sim/timeline.h"

#include <cassert>

namespace holdfast::sim {

Timeline::Owner Timeline::add_owner() {
  owners_.emplace_back();
  return owners_.size() - 1;
}

void Timeline::at(True when, Owner owner, std::function<void()> what) {
  assert(when >= now_);
  if (when == never_comes) return;
  events_.push({when, planned_++, owner, std::move(what)});
}

void Timeline::pause(Owner owner) {
  if (owners_[owner].state == State::running) owners_[owner].state = State::paused;
}

void Timeline::go_on(Owner owner) {
  OwnerState& process = owners_[owner];
  if (process.state != State::paused) return;
  process.state = State::running;
  process.went_on = now_;
  for (auto& what : process.backlog) at(now_, owner, std::move(what));
  process.backlog.clear();
}

void Timeline::kill(Owner owner) {
  owners_[owner].state = State::dead;
  owners_[owner].backlog.clear();
}

bool Timeline::step(True end) {
  if (events_.empty() || events_.top().when > end) {
    now_ = end;
    return false;
  }
  // top() is const; the event is popped before anybody looks at it again.
  Event event = std::move(const_cast<Event&>(events_.top()));
  events_.pop();
  now_ = event.when;
  OwnerState& process = owners_[event.owner];
  switch (process.state) {
    case State::dead: return true;
    case State::paused: process.backlog.push_back(std::move(event.what)); return true;
    case State::running: break;
  }
  ++steps_;
  event.what();
  return true;
}

}  // namespace holdfast::sim
