// SPDX-License-Identifier: Apache-2.0
// run_context.h - what every part of a simulated world needs: its plan, its time, its chance, its record.
#pragma once
#include <optional>
#include <string>

#include "sim/dice.h"
#include "sim/names.h"
#include "sim/plan.h"
#include "sim/timeline.h"
#include "sim/trace.h"

namespace holdfast::sim {

// A promise that was broken: it ends the seed.
struct Violation {
  const char* property;  // a literal
  std::string detail;
};

struct RunContext {
  RunContext(const Plan& p, Mutant m, bool printed) : plan(p), mutant(m), dice(p.seed), trace(printed) {}

  const Plan plan;
  const Mutant mutant;
  Timeline timeline;
  Dice dice;
  Trace trace;
  Tally<Fault> faults;
  Tally<Sometimes> seen;
  std::optional<Violation> violation;  // the first
  bool over = false;                   // nobody looks any more: what still runs has to end

  True now() const { return timeline.now(); }
  bool calm() const { return over || now() >= plan.calm_from; }
  bool closing() const { return now() >= plan.closing_from; }
  bool is(Mutant m) const { return mutant == m; }

  // Whether that happens now.
  bool strikes(Fault fault) {
    if (calm() || !dice.chance(plan.of(fault))) return false;
    faults.count(fault);
    return true;
  }
  void sometimes(Sometimes what) { seen.count(what); }
  void note(Event event) {
    event.at = now();
    trace.note(event);
  }
  void violated(const char* property, std::string detail) {
    if (!violation) violation = Violation{property, std::move(detail)};
  }
};

}  // namespace holdfast::sim
