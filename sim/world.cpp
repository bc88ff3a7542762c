// SPDX-License-Identifier: Apache-2.0
#include "sim/world.h"

#include <map>
#include <memory>

#include "sim/inspector.h"
#include "sim/planted.h"
#include "sim/process.h"

namespace holdfast::sim {
namespace {

RunContext* planted_in = nullptr;

using namespace std::chrono_literals;

class World {
 public:
  World(std::uint64_t seed, RunOptions options)
      : context_(options.less.of(plan_for(seed)), options.mutant, options.print_events),
        ledger_(context_),
        threads_(
            context_.timeline, [this] { return context_.dice.next(); }, [this] { return server_.wall(); }),
        server_(context_, ledger_, [this](Timeline::Owner process, int key) { ring(process, key); }),
        holdings_(context_, server_, ledger_),
        labour_(context_, server_),
        network_(context_, server_, [this](Timeline::Owner process) { pause(process); }) {
    plant_in(&context_);
  }
  ~World() { plant_in(nullptr); }

  Outcome run() {
    for (int i = 0; i < context_.plan.processes; ++i) start_process();
    later(Micros(0), [this] { weather(); });
    later(2s, [this] { break_what_is_abandoned(); });
    later(std::chrono::ceil<Micros>(context_.plan.calm_from), [this] { calm_down(); });
    while (!context_.violation && context_.timeline.step(context_.plan.end)) {
    }
    Inspector(context_, server_, ledger_, processes_).inspect_at_the_end();
    labour_.inspect_at_the_end();
    context_.trace.note({.at = context_.now(), .process = Timeline::world, .what = "end"});
    Outcome outcome{.violation = context_.violation,
                    .faults = context_.faults,
                    .seen = context_.seen,
                    .events = context_.timeline.steps(),
                    .hash = context_.trace.hash(),
                    .last = context_.trace.last()};
    if (!end_threads()) {
      (void)new auto(std::move(dead_));  // leaked: a thread that never ends still uses them
      if (!outcome.violation)
        outcome.violation =
            Violation{"every thread ends", "a thread still waits a day after its process has ended"};
    }
    return outcome;
  }

 private:
  void later(Micros delay, std::function<void()> what) {
    context_.timeline.at(context_.now() + delay, Timeline::world, std::move(what));
  }

  void start_process() {
    const Timeline::Owner id = context_.timeline.add_owner();
    auto process =
        std::make_unique<Process>(Surroundings{context_, server_, network_, ledger_, holdings_, labour_}, id);
    Process& started = *process;
    processes_.emplace(id, std::move(process));
    started.start(context_.dice.between(1, context_.plan.threads));
  }

  void ring(Timeline::Owner process, int key) {
    const auto to = processes_.find(process);
    if (to == processes_.end()) return;
    network_.carry_ring(process,
                        [mailbox = to->second->mailbox(), key] { mailbox->put(Server::text_of(key)); });
  }

  // A lease without end whose process has died, or whose caller does not know of it, is for an operator.
  void break_what_is_abandoned() {
    if (context_.over) return;
    for (int key = 0; key < context_.plan.keys; ++key) {
      const AttemptId owner = ledger_.owner_of(key);
      if (owner < 0 || !server_.without_end(key)) continue;
      const bool dead = !processes_.contains(ledger_.process_of(owner));
      const bool unknown = ledger_.is_over(owner) && context_.now() - ledger_.over_since(owner) > 3s;
      if (!dead && !unknown && !ledger_.granted_to_a_copy(key)) continue;
      context_.sometimes(Sometimes::broken_because_abandoned);
      server_.break_lease(key);
    }
    later(2s, [this] { break_what_is_abandoned(); });
  }

  // What befalls processes and the store, ten times a second.
  void weather() {
    if (context_.calm()) return;
    if (context_.strikes(Fault::hung_store)) network_.hang_store(context_.dice.spread(50ms, 4s));
    if (context_.strikes(Fault::stepped_wall_clock)) step_wall_clock();
    if (context_.strikes(Fault::broken_lease))
      server_.break_lease(context_.dice.between(0, context_.plan.keys - 1));
    if (context_.strikes(Fault::purge)) server_.purge(0ms);
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
    bury(process);
    start_process();
  }

  void bury(Timeline::Owner id) {
    context_.timeline.go_on(id);  // unseen
    context_.timeline.died(id);
    auto process = processes_.extract(id);
    process.mapped()->kill();
    std::erase_if(dead_, [](const auto& dead) { return dead->ended(); });
    dead_.push_back(std::move(process.mapped()));
  }

  // Ends what still runs when the seed is over, so that its memory is freed.
  bool end_threads() {
    const True patience = context_.now() + 24h;
    context_.over = true;
    network_.calm_down();
    while (!processes_.empty()) bury(processes_.begin()->first);
    while (threads_.any_alive() && context_.timeline.step(patience)) {
    }
    return !threads_.any_alive();
  }

  void calm_down() {
    context_.note({.process = Timeline::world, .what = "is calm from here on"});
    network_.calm_down();
    for (const auto& [id, process] : processes_) go_on(id);
    later(Inspector::patience, [this] { inspect(); });
  }

  void inspect() {
    if (context_.over) return;
    Inspector(context_, server_, ledger_, processes_).inspect();
    later(1s, [this] { inspect(); });
  }

  RunContext context_;
  Ledger ledger_;
  Threads threads_;
  Server server_;
  Holdings holdings_;
  Labour labour_;
  Network network_;
  Processes processes_;                         // by id: those that live
  std::vector<std::unique_ptr<Process>> dead_;  // of which threads may be left
};

}  // namespace

void plant_in(RunContext* context) noexcept { planted_in = context; }
bool planted(Mutant mutant) noexcept { return planted_in != nullptr && planted_in->is(mutant); }
// Not what is left of a killed process.
void saw(Sometimes what) noexcept {
  if (planted_in == nullptr) return;
  const Threads* const threads = Threads::exists();
  if (threads && threads->current() && planted_in->timeline.dead(threads->home().process)) return;
  planted_in->sometimes(what);
}

Outcome run(std::uint64_t seed, RunOptions options) { return World(seed, options).run(); }

}  // namespace holdfast::sim
