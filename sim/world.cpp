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
      : scene_(plan_for(seed), options.mutant, options.print_events),
        ledger_(scene_),
        beliefs_(scene_),
        server_(scene_, ledger_, beliefs_, [this](Timeline::Owner process, int key) { ring(process, key); }),
        network_(scene_, server_, [this](Timeline::Owner process) { pause(process); }) {}

  Outcome run() {
    for (int i = 0; i < scene_.plan.processes; ++i) start_process();
    later(Micros(0), [this] { weather(); });
    later(std::chrono::ceil<Micros>(scene_.plan.calm_from), [this] { calm_down(); });
    while (!scene_.violation && scene_.timeline.step(scene_.plan.end)) {
    }
    Inspector(scene_, server_, ledger_, processes_).look_at_the_end();
    scene_.trace.note({.at = scene_.now(), .process = Timeline::world, .what = "end"});
    return {.violation = scene_.violation,
            .faults = scene_.faults,
            .seen = scene_.seen,
            .events = scene_.timeline.steps(),
            .hash = scene_.trace.hash(),
            .last = scene_.trace.last()};
  }

 private:
  void later(Micros delay, std::function<void()> what) {
    scene_.timeline.at(scene_.now() + delay, Timeline::world, std::move(what));
  }

  void start_process() {
    const Timeline::Owner id = scene_.timeline.add_owner();
    server_.welcome(id);
    auto process = std::make_unique<Process>(Surroundings{scene_, server_, network_, ledger_, beliefs_}, id);
    Process& started = *process;
    processes_.emplace(id, std::move(process));
    started.start(scene_.dice.between(1, scene_.plan.threads));
  }

  void ring(Timeline::Owner process, int key) {
    network_.carry_ring(process, [this, process, key] { processes_.at(process)->gates().ring(key); });
  }

  // What befalls processes and the store, ten times a second.
  void weather() {
    if (scene_.calm()) return;
    if (scene_.strikes(Fault::hung_store)) network_.hang_store(scene_.dice.spread(50ms, 4s));
    if (scene_.strikes(Fault::stepped_wall_clock)) step_wall_clock();
    if (scene_.strikes(Fault::broken_lease))
      server_.break_lease(scene_.dice.between(0, scene_.plan.keys - 1));
    if (scene_.strikes(Fault::purge)) server_.purge();
    if (scene_.strikes(Fault::hung_client)) network_.hang(somebody(), scene_.dice.spread(50ms, 10s));
    if (scene_.strikes(Fault::paused_process)) pause(somebody());
    if (scene_.strikes(Fault::killed_process)) kill(somebody());
    later(100ms, [this] { weather(); });
  }

  Timeline::Owner somebody() {
    auto it = processes_.begin();
    std::advance(it, scene_.dice.between(0, static_cast<int>(processes_.size()) - 1));
    return it->first;
  }

  void step_wall_clock() {
    const Micros by = scene_.dice.spread(1ms, 1h);
    server_.step_wall_clock(scene_.dice.chance(0.5) ? by : -by);
  }

  void pause(Timeline::Owner process) {
    if (!scene_.timeline.running(process)) return;
    scene_.note({.process = process, .what = "is paused"});
    scene_.timeline.pause(process);
    later(scene_.dice.spread(20ms, 12s), [this, process] { go_on(process); });
  }

  void go_on(Timeline::Owner process) {
    if (!scene_.timeline.paused(process)) return;
    scene_.note({.process = process, .what = "goes on"});
    scene_.timeline.go_on(process);
  }

  void kill(Timeline::Owner process) {
    scene_.note({.process = process, .what = "is killed"});
    if (processes_.at(process)->holds_something()) scene_.sometimes(Sometimes::died_holding);
    if (processes_.at(process)->waits_for_something()) scene_.sometimes(Sometimes::died_waiting);
    scene_.timeline.kill(process);
    beliefs_.process_died(process);
    processes_.erase(process);
    start_process();
  }

  void calm_down() {
    scene_.note({.process = Timeline::world, .what = "is calm from here on"});
    network_.calm_down();
    for (const auto& [id, process] : processes_) go_on(id);
    later(Inspector::patience, [this] { inspect(); });
  }

  void inspect() {
    Inspector(scene_, server_, ledger_, processes_).look();
    later(1s, [this] { inspect(); });
  }

  Scene scene_;
  Ledger ledger_;
  Beliefs beliefs_;
  Server server_;
  Network network_;
  Processes processes_;  // by id: those that live
};

}  // namespace

Outcome run(std::uint64_t seed, RunOptions options) { return World(seed, options).run(); }

}  // namespace holdfast::sim
