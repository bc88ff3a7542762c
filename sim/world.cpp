// SPDX-License-Identifier: Apache-2.0
#include "sim/world.h"

#include <map>
#include <memory>

#include "sim/inspector.h"
#include "sim/process.h"

namespace holdfast::sim {
namespace {

using namespace std::chrono_literals;

class World {
 public:
  World(std::uint64_t seed, RunOptions options)
      : context_(plan_for(seed), options.mutant, options.print_events),
        ledger_(context_),
        beliefs_(context_),
        server_(context_, ledger_, beliefs_,
                [this](Timeline::Owner process, int key) { ring(process, key); }),
        network_(context_, server_, [this](Timeline::Owner process) { pause(process); }) {}

  Outcome run() {
    for (int i = 0; i < context_.plan.processes; ++i) start_process();
    later(Micros(0), [this] { weather(); });
    later(std::chrono::ceil<Micros>(context_.plan.calm_from), [this] { calm_down(); });
    while (!context_.violation && context_.timeline.step(context_.plan.end)) {
    }
    Inspector(context_, server_, ledger_, processes_).inspect_at_the_end();
    context_.trace.note({.at = context_.now(), .process = Timeline::world, .what = "end"});
    return {.violation = context_.violation,
            .faults = context_.faults,
            .seen = context_.seen,
            .events = context_.timeline.steps(),
            .hash = context_.trace.hash(),
            .last = context_.trace.last()};
  }

 private:
  void later(Micros delay, std::function<void()> what) {
    context_.timeline.at(context_.now() + delay, Timeline::world, std::move(what));
  }

  void start_process() {
    const Timeline::Owner id = context_.timeline.add_owner();
    server_.welcome(id);
    auto process =
        std::make_unique<Process>(Surroundings{context_, server_, network_, ledger_, beliefs_}, id);
    Process& started = *process;
    processes_.emplace(id, std::move(process));
    started.start(context_.dice.between(1, context_.plan.threads));
  }

  void ring(Timeline::Owner process, int key) {
    network_.carry_ring(process, [this, process, key] { processes_.at(process)->gates().ring(key); });
  }

  // What befalls processes and the store, ten times a second.
  void weather() {
    if (context_.calm()) return;
    if (context_.strikes(Fault::hung_store)) network_.hang_store(context_.dice.spread(50ms, 4s));
    if (context_.strikes(Fault::stepped_wall_clock)) step_wall_clock();
    if (context_.strikes(Fault::broken_lease))
      server_.break_lease(context_.dice.between(0, context_.plan.keys - 1));
    if (context_.strikes(Fault::purge)) server_.purge();
    if (context_.strikes(Fault::hung_client)) network_.hang(somebody(), context_.dice.spread(50ms, 10s));
    if (context_.strikes(Fault::paused_process)) pause(somebody());
    if (context_.strikes(Fault::killed_process)) kill(somebody());
    later(100ms, [this] { weather(); });
  }

  Timeline::Owner somebody() {
    auto it = processes_.begin();
    std::advance(it, context_.dice.between(0, static_cast<int>(processes_.size()) - 1));
    return it->first;
  }

  void step_wall_clock() {
    const Micros by = context_.dice.spread(1ms, 1h);
    server_.step_wall_clock(context_.dice.chance(0.5) ? by : -by);
  }

  void pause(Timeline::Owner process) {
    if (!context_.timeline.running(process)) return;
    context_.note({.process = process, .what = "is paused"});
    context_.timeline.pause(process);
    later(context_.dice.spread(20ms, 12s), [this, process] { go_on(process); });
  }

  void go_on(Timeline::Owner process) {
    if (!context_.timeline.paused(process)) return;
    context_.note({.process = process, .what = "resumes"});
    context_.timeline.go_on(process);
  }

  void kill(Timeline::Owner process) {
    context_.note({.process = process, .what = "is killed"});
    if (processes_.at(process)->holds_something()) context_.sometimes(Sometimes::died_holding);
    if (processes_.at(process)->waits_for_something()) context_.sometimes(Sometimes::died_waiting);
    context_.timeline.kill(process);
    beliefs_.process_died(process);
    processes_.erase(process);
    start_process();
  }

  void calm_down() {
    context_.note({.process = Timeline::world, .what = "is calm from here on"});
    network_.calm_down();
    for (const auto& [id, process] : processes_) go_on(id);
    later(Inspector::patience, [this] { inspect(); });
  }

  void inspect() {
    Inspector(context_, server_, ledger_, processes_).inspect();
    later(1s, [this] { inspect(); });
  }

  RunContext context_;
  Ledger ledger_;
  Beliefs beliefs_;
  Server server_;
  Network network_;
  Processes processes_;  // by id: those that live
};

}  // namespace

Outcome run(std::uint64_t seed, RunOptions options) { return World(seed, options).run(); }

}  // namespace holdfast::sim
