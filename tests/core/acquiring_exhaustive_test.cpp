// SPDX-License-Identifier: Apache-2.0
// Every sequence of events up to a depth, for a set of plans: no promise is broken at any step.
#include <gtest/gtest.h>

#include <iostream>

#include "tests/core/acquiring_witness.h"

namespace holdfast::core {
namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr int depth = 6;
#else
constexpr int depth = 8;
#endif

constexpr Event answers[] = {Event::granted,       Event::granted_late,    Event::busy_soon,
                             Event::busy_long,     Event::busy_stranger,   Event::unavailable,
                             Event::in_doubt,      Event::in_doubt_slowly, Event::refused,
                             Event::stop_and_busy, Event::stop_and_grant};
constexpr Event in_a_sleep[] = {Event::slept, Event::woken, Event::ready, Event::stop};

constexpr double jitters[] = {0.0, 0.999, 0.5};

// One acquire and its witness; copied wherever the next events differ.
struct World {
  Acquiring acquiring;
  Witness witness;
  Instant now = start;
};

class Explorer {
 public:
  explicit Explorer(AcquirePlan plan) : plan_(std::move(plan)) {}

  void explore() { explore({Acquiring(plan_, start), Witness(plan_)}, depth); }
  std::uint64_t sequences() const { return sequences_; }

 private:
  void explore(World world, int left) {
    const auto step = world.acquiring.next(world.now, jitters[path_.size() % std::size(jitters)]);
    const std::string wrong = world.witness.sees(step, world.now, world.acquiring.attempts());
    if (!wrong.empty()) return report(wrong, world.now);
    if (std::holds_alternative<Acquiring::Done>(step)) {
      ++sequences_;
      return stays_done(std::move(world), std::get<Acquiring::Done>(step));
    }
    if (left == 0) {
      ++sequences_;
      return;
    }
    if (const auto* send = std::get_if<Acquiring::Send>(&step)) {
      for (const Event event : answers) follow(world, event, send->until, left);
    } else {
      for (const Event event : in_a_sleep) follow(world, event, std::get<Acquiring::Sleep>(step).until, left);
    }
  }

  void follow(const World& before, Event event, Instant until, int left) {
    if (failures_ >= most_failures) return;
    World world = before;
    path_.push_back(event);
    happen(world, event, until);
    world.witness.hears(event, world.now);
    explore(std::move(world), left - 1);
    path_.pop_back();
  }

  void happen(World& world, Event event, Instant until) {
    const Instant sent = world.now;
    const auto answered = [&](Millis after, const Reply& reply) {
      world.now += after;
      world.acquiring.answered(sent, world.now, reply);
    };
    const auto failed = [&](Instant when, Errc code) {
      world.now = when;
      world.acquiring.failed(world.now, {code, "told so"});
    };
    switch (event) {
      case Event::stop_and_grant: world.acquiring.stop(); [[fallthrough]];
      case Event::granted:
        return answered(1ms, {.verdict = Verdict::granted, .token = Token{8}, .remaining = Millis(never)});
      case Event::granted_late:
        return answered(plan_.ttl / 2 + 1ms,
                        {.verdict = Verdict::granted, .token = Token{8}, .remaining = Millis(never)});
      case Event::stop_and_busy: world.acquiring.stop(); [[fallthrough]];
      case Event::busy_soon:
      case Event::busy_long:
      case Event::busy_stranger: return answered(1ms, busy_reply(event));
      case Event::unavailable: return failed(sent + 1ms, Errc::unavailable);
      case Event::in_doubt: return failed(sent + 1ms, Errc::in_doubt);
      case Event::in_doubt_slowly: return failed(until + 1ms, Errc::in_doubt);
      case Event::refused: return failed(sent + 1ms, Errc::refused);
      case Event::slept: world.now = until + path_.size() % 2 * 3ms; return;
      case Event::woken: world.now += (until - world.now) / 2; return;
      case Event::ready: world.now += 1ns; return world.acquiring.ready();
      case Event::stop: return world.acquiring.stop();
    }
  }

  // Whatever comes afterwards, it stays done, and in the same way.
  void stays_done(World world, const Acquiring::Done& done) {
    world.acquiring.ready();
    world.acquiring.stop();
    const auto step = world.acquiring.next(world.now + 1h, 0.5);
    const auto* again = std::get_if<Acquiring::Done>(&step);
    const bool same = again && again->failed == done.failed && again->tidy == done.tidy &&
                      again->tidy_again == done.tidy_again;
    if (!same) report("does not stay done", world.now);
  }

  void report(const std::string& wrong, Instant now) {
    ++sequences_;
    ++failures_;
    std::string road;
    for (const Event event : path_) road += std::string(" ") + name(event);
    ADD_FAILURE() << wrong << " at " << ms(now) << " ms, after:" << road;
  }

  static constexpr int most_failures = 3;
  const AcquirePlan plan_;
  std::vector<Event> path_;
  std::uint64_t sequences_ = 0;
  int failures_ = 0;
};

AcquirePlan planned(AcquirePlan plan) {
  plan.ttl = plan.ttl == 0ms ? Millis(600ms) : plan.ttl;  // an attempt gets 100 ms
  plan.margin = margin_of(plan.ttl, {}, 0ms);
  plan.place = plan.place == 0ms ? Millis(3s) : plan.place;
  return plan;
}

Millis square(int attempt) { return Millis(attempt * attempt); }

TEST(AcquiringExhaustive, no_sequence_of_events_breaks_a_promise) {
  const struct {
    const char* what;
    AcquirePlan plan;
  } table[] = {
      {"no wait", {.wait = 0ms}},
      {"no wait, short ttl", {.ttl = 60ms, .wait = 0ms}},
      {"no wait, not fair", {.wait = 0ms, .fair = false}},
      {"a wait shorter than an attempt", {.wait = 30ms, .push = true}},
      {"a short wait", {.wait = 150ms, .push = true}},
      {"a short wait, no notifications", {.wait = 150ms}},
      {"a wait", {.wait = 5s, .push = true}},
      {"forever", {.wait = Millis(forever), .push = true}},
      {"forever, no notifications", {.wait = Millis(forever)}},
      {"forever, not fair", {.wait = Millis(forever), .fair = false, .push = true}},
      {"forever, a long ttl", {.ttl = 30s, .wait = Millis(forever), .push = true}},
      {"forever, a ttl of a day", {.ttl = 24h, .wait = Millis(forever), .push = true}},
      {"forever, a short place", {.wait = Millis(forever), .place = 300ms, .push = true}},
      {"forever, a short place, no notifications", {.wait = Millis(forever), .place = 90ms}},
      {"one attempt", {.attempts = 1}},
      {"two attempts", {.attempts = 2}},
      {"three attempts by a function", {.attempts = 3, .interval = square}},
      {"two attempts within a wait", {.wait = 150ms, .attempts = 2, .push = true}},
      {"a fixed interval within a wait", {.wait = 150ms, .interval = 40ms, .push = true}},
      {"an interval longer than the wait", {.wait = 150ms, .interval = 200ms}},
      {"a fixed interval forever", {.wait = Millis(forever), .interval = 40ms}},
  };
  std::uint64_t sequences = 0;
  for (const auto& row : table) {
    SCOPED_TRACE(row.what);
    Explorer explorer(planned(row.plan));
    explorer.explore();
    sequences += explorer.sequences();
  }
  std::cout << sequences << " sequences of up to " << depth << " events under " << std::size(table)
            << " plans\n";
}

}  // namespace
}  // namespace holdfast::core
