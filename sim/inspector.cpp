// SPDX-License-Identifier: Apache-2.0
#include "sim/inspector.h"

#include <algorithm>

namespace holdfast::sim {
namespace {

using namespace std::chrono_literals;

// For a release, a pending release and its repetition.
constexpr Millis tidying = 3s;
// For everybody in front, each a short time, behind the lease of somebody who died and had extended it.
constexpr Millis turns = 40s;

}  // namespace

void Inspector::inspect() {
  nobody_waits_too_long();
  for (int key = 0; key < context_.plan.keys; ++key) {
    no_ghost(key);
    no_place_left_behind(key);
  }
}

void Inspector::nobody_waits_too_long() {
  for (const auto& [id, process] : processes_) {
    const True since = process->waits_since();
    if (since == never_comes) continue;
    if (context_.now() - std::max(since, context_.plan.calm_from) <= context_.plan.longest_ttl + turns)
      continue;
    context_.violated("waiters are served once faults stop",
                      "process " + std::to_string(id) + " is still waiting");
  }
}

// A lease whose release was lost, or of whose grant nobody can know, lives until its ttl; one that was never
// taken is given back.
void Inspector::no_ghost(int key) {
  const AttemptId owner = ledger_.owner_of(key);
  if (owner < 0 || !server_.live(key) || !ledger_.gave_up(owner) || ledger_.granted_to_a_copy(key)) return;
  if (ledger_.named(owner)) return;  // it is left to expire
  if (!processes_.contains(ledger_.process_of(owner))) return;
  if (context_.now() - ledger_.over_since(owner) <= tidying) return;
  context_.violated("no ghost leases", "k" + std::to_string(key) + " is held by attempt " +
                                           std::to_string(owner) + ", whose caller gave up");
}

void Inspector::no_place_left_behind(int key) {
  for (const Timeline::Owner id : server_.waiting(key)) {
    const auto process = processes_.find(id);
    if (process != processes_.end()) {
      if (process->second->waiters(key) > 0 || context_.now() - process->second->left(key) <= 500ms) continue;
    }
    context_.violated("no place is left behind",
                      "k" + std::to_string(key) + ": process " + std::to_string(id) +
                          " has a place in the queue, but none of its threads waits");
  }
}

void Inspector::inspect_at_the_end() {
  if (context_.violation) return;
  for (int key = 0; key < context_.plan.keys; ++key) {
    if (server_.live(key))
      context_.violated("nothing is left at the end", "k" + std::to_string(key) + " is still held");
    if (!server_.waiting(key).empty())
      context_.violated("nothing is left at the end",
                        "the queue of k" + std::to_string(key) + " is not empty");
  }
  for (const auto& [id, process] : processes_) {
    if (!process->done())
      context_.violated("every process ends", "process " + std::to_string(id) + " did not");
  }
}

}  // namespace holdfast::sim
