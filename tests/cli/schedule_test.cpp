// SPDX-License-Identifier: Apache-2.0
#include "cli/run/schedule.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace holdfast::cli {
namespace {

using namespace std::chrono_literals;

constexpr Instant schedule_start{1000s};

TEST(Schedule, sends_kill_a_little_before_the_deadline_and_term_before_that) {
  const Schedule schedule(schedule_start + 30s, 30s);
  EXPECT_EQ(schedule.kill_at(), schedule_start + 30s - 1s);
  EXPECT_EQ(schedule.term_at(), schedule_start + 30s - 1s - 5s);
}

TEST(Schedule, scales_with_the_ttl) {
  EXPECT_EQ(Schedule(schedule_start + 1s, 1s).kill_at(), schedule_start + 900ms);
  EXPECT_EQ(Schedule(schedule_start + 60ms, 60ms).kill_at(), schedule_start + 54ms);
  EXPECT_EQ(Schedule(schedule_start + 60ms, 60ms).term_at(), schedule_start + 44ms);
  EXPECT_EQ(Schedule(schedule_start + 1h, 1h).term_at(), schedule_start + 1h - 1s - 10s);
}

TEST(Schedule, always_sends_term_before_kill_and_kill_before_the_deadline) {
  for (Millis ttl = 20ms; ttl < 24h; ttl = ttl * 3 / 2) {
    const Schedule schedule(schedule_start + ttl, ttl);
    EXPECT_LT(schedule_start, schedule.term_at()) << ttl.count();
    EXPECT_LT(schedule.term_at(), schedule.kill_at()) << ttl.count();
    EXPECT_LT(schedule.kill_at(), schedule.doubt_at()) << ttl.count();
    EXPECT_LT(schedule.doubt_at(), schedule_start + ttl) << ttl.count();
  }
}

TEST(Schedule, moves_with_a_renewal_and_never_back) {
  Schedule schedule(schedule_start + 30s, 30s);
  schedule.renewed(schedule_start + 40s);
  EXPECT_EQ(schedule.kill_at(), schedule_start + 40s - 1s);
  schedule.renewed(schedule_start + 35s);
  EXPECT_EQ(schedule.kill_at(), schedule_start + 40s - 1s);
}

TEST(Schedule, told_kills_after_its_grace_but_never_later_than_the_deadline_asks) {
  Schedule early(schedule_start + 30s, 30s);
  early.request_end(schedule_start + 1s, 5s);
  EXPECT_EQ(early.term_at(), schedule_start + 1s);
  EXPECT_EQ(early.kill_at(), schedule_start + 6s);
  Schedule late(schedule_start + 30s, 30s);
  late.request_end(schedule_start + 28s, 5s);
  EXPECT_EQ(late.kill_at(), schedule_start + 30s - 1s);
}

TEST(Schedule, lets_a_stopped_command_move_while_the_lease_is_ours) {
  Schedule schedule(schedule_start + 30s, 30s);
  EXPECT_TRUE(schedule.may_move(schedule_start));
  EXPECT_FALSE(schedule.may_move(schedule_start + 29s)) << "it is killed then";
  schedule.started(schedule_start, 10s);
  schedule.did(Step::term, schedule_start + 10s);
  EXPECT_EQ(schedule.cause(), Cause::time);
  EXPECT_TRUE(schedule.may_move(schedule_start + 10s));
  schedule.lost(schedule_start + 11s, 5s);
  EXPECT_FALSE(schedule.may_move(schedule_start + 11s));
  Schedule orphan(schedule_start + 30s, 30s);
  orphan.main_gone();
  EXPECT_FALSE(orphan.may_move(schedule_start));
  Schedule careless(schedule_start + 30s, 30s, {.on_lost = OnLost::ignore});
  careless.lost(schedule_start, 5s);
  EXPECT_TRUE(careless.may_move(schedule_start + 1h));
}

TEST(Schedule, looks_less_and_less_often_at_one_that_does_not_end) {
  EXPECT_EQ(recheck_after(0ms), 5ms);
  EXPECT_EQ(recheck_after(999ms), 5ms);
  EXPECT_EQ(recheck_after(1s), 100ms);
  EXPECT_EQ(recheck_after(10s), 1s);
  EXPECT_EQ(recheck_after(24h), 1s);
}

TEST(Schedule, the_first_telling_counts) {
  Schedule schedule(schedule_start + 30s, 30s);
  schedule.request_end(schedule_start + 1s, 5s);
  schedule.request_end(schedule_start + 2s, 5s);
  EXPECT_EQ(schedule.kill_at(), schedule_start + 6s);
}

TEST(Schedule, no_renewal_takes_back_a_requested_end) {
  Schedule schedule(schedule_start + 30s, 30s);
  schedule.request_end(schedule_start + 1s, 5s);
  schedule.renewed(schedule_start + 60s);
  EXPECT_EQ(schedule.term_at(), schedule_start + 1s);
  EXPECT_EQ(schedule.kill_at(), schedule_start + 6s);
}

// ---- what was asked for

// A lease of 30 s, of which 1 s is the margin and 5 s the usual grace; CMD has started at `schedule_start`.
struct Asked {
  const char* what;
  Ending ending;
  enum { nothing, lost_at_10, main_gone_at_10, ended_at_10 } event;
  Instant term_at;  // or the program of exec
  Instant kill_at;
  Cause cause;
};
constexpr Instant never_comes = Instant::max();
const Asked table[] = {
    {"term", {}, Asked::nothing, schedule_start + 24s, schedule_start + 29s, Cause::lease},
    {"exec",
     {.on_lost = OnLost::exec},
     Asked::nothing,
     schedule_start + 24s,
     schedule_start + 29s,
     Cause::lease},
    {"kill",
     {.on_lost = OnLost::kill},
     Asked::nothing,
     schedule_start + 29s,
     schedule_start + 29s,
     Cause::lease},
    {"ignore", {.on_lost = OnLost::ignore}, Asked::nothing, never_comes, never_comes, Cause::none},
    {"term", {}, Asked::lost_at_10, schedule_start + 10s, schedule_start + 15s, Cause::lease},
    {"exec",
     {.on_lost = OnLost::exec},
     Asked::lost_at_10,
     schedule_start + 10s,
     schedule_start + 15s,
     Cause::lease},
    {"kill", {.on_lost = OnLost::kill}, Asked::lost_at_10, Instant::min(), Instant::min(), Cause::lease},
    {"ignore", {.on_lost = OnLost::ignore}, Asked::lost_at_10, never_comes, never_comes, Cause::none},
    {"term", {}, Asked::main_gone_at_10, Instant::min(), Instant::min(), Cause::lease},
    {"exec", {.on_lost = OnLost::exec}, Asked::main_gone_at_10, Instant::min(), Instant::min(), Cause::lease},
    {"ignore", {.on_lost = OnLost::ignore}, Asked::main_gone_at_10, never_comes, never_comes, Cause::none},
    {"kill-after",
     {.kill_after = 10s},
     Asked::nothing,
     schedule_start + 19s,
     schedule_start + 29s,
     Cause::lease},
    {"kill-after",
     {.kill_after = 10s},
     Asked::lost_at_10,
     schedule_start + 10s,
     schedule_start + 20s,
     Cause::lease},
    {"kill-after",
     {.kill_after = 10s},
     Asked::ended_at_10,
     schedule_start + 10s,
     schedule_start + 20s,
     Cause::lease},
    {"kill-after 0",
     {.kill_after = 0s},
     Asked::nothing,
     schedule_start + 29s,
     schedule_start + 29s,
     Cause::lease},
    {"ended", {}, Asked::ended_at_10, schedule_start + 10s, schedule_start + 12s, Cause::lease},
    {"ignore, ended",
     {.on_lost = OnLost::ignore},
     Asked::ended_at_10,
     schedule_start + 10s,
     schedule_start + 12s,
     Cause::lease},
    {"at-most", {.at_most = 7s}, Asked::nothing, schedule_start + 7s, schedule_start + 12s, Cause::time},
    {"at-most 0",
     {.kill_after = 0s, .at_most = 7s},
     Asked::nothing,
     schedule_start + 7s,
     schedule_start + 7s,
     Cause::time},
    {"at-most", {.at_most = 27s}, Asked::nothing, schedule_start + 24s, schedule_start + 29s, Cause::lease},
    {"at-most", {.at_most = 7s}, Asked::lost_at_10, schedule_start + 7s, schedule_start + 12s, Cause::time},
    {"at-most",
     {.at_most = 12s},
     Asked::lost_at_10,
     schedule_start + 10s,
     schedule_start + 15s,
     Cause::lease},
    {"at-most, kill",
     {.on_lost = OnLost::kill, .at_most = 7s},
     Asked::nothing,
     schedule_start + 7s,
     schedule_start + 12s,
     Cause::time},
    {"at-most, ignore",
     {.on_lost = OnLost::ignore, .at_most = 1h},
     Asked::lost_at_10,
     schedule_start + 1h,
     schedule_start + 1h + 5s,
     Cause::time},
};

TEST(Schedule, does_what_was_asked_for) {
  for (const Asked& asked : table) {
    SCOPED_TRACE(std::string(asked.what) + ", row " + std::to_string(&asked - table));
    Schedule schedule(schedule_start + 30s, 30s, asked.ending);
    schedule.started(schedule_start, asked.ending.at_most);
    if (asked.event == Asked::lost_at_10) schedule.lost(schedule_start + 10s, schedule.grace());
    if (asked.event == Asked::main_gone_at_10) schedule.main_gone();
    if (asked.event == Asked::ended_at_10) schedule.ended(schedule_start + 10s);
    EXPECT_EQ(schedule.term_at(), asked.term_at);
    EXPECT_EQ(schedule.kill_at(), asked.kill_at);
    EXPECT_EQ(schedule.cause(schedule_start + 2h), asked.cause);
    EXPECT_EQ(schedule.cause(schedule_start + 6s),
              asked.term_at < schedule_start ? Cause::lease : Cause::none);
  }
}

// ---- step by step

// What comes to the same lease at a moment, what is done then, and how it stands behind that.
struct Event {
  enum What { nothing, renewed, lost, main_gone, ended } what;
  std::chrono::seconds at;
  Step due;
  std::chrono::seconds next;  // something more is due
  Cause cause;                // CMD is, or was, ended for that
};
struct Course {
  const char* what;
  Ending ending;
  std::vector<Event> events;
};
const Course courses[] = {
    {"TERM is not taken back, and KILL comes in time, whatever is renewed",
     {},
     {{Event::nothing, 23s, Step::none, 24s, Cause::none},
      {Event::nothing, 24s, Step::term, 29s, Cause::lease},
      {Event::renewed, 26s, Step::none, 29s, Cause::lease},
      {Event::renewed, 28s, Step::none, 29s, Cause::lease},
      {Event::nothing, 29s, Step::kill, 29s, Cause::lease},
      {Event::renewed, 30s, Step::kill, 29s, Cause::lease}}},
    {"TERM came late: KILL is no later than the lease asks",
     {},
     {{Event::nothing, 27s, Step::term, 29s, Cause::lease}}},
    {"PROGRAM is called off by a renewal, and run again the next time",
     {.on_lost = OnLost::exec},
     {{Event::nothing, 24s, Step::program, 29s, Cause::lease},
      {Event::renewed, 26s, Step::none, 50s, Cause::none},
      {Event::nothing, 50s, Step::program, 55s, Cause::lease},
      {Event::nothing, 55s, Step::kill, 55s, Cause::lease}}},
    {"PROGRAM is not called off when the lease is known to be lost",
     {.on_lost = OnLost::exec},
     {{Event::lost, 10s, Step::program, 15s, Cause::lease},
      {Event::renewed, 11s, Step::none, 15s, Cause::lease},
      {Event::nothing, 15s, Step::kill, 15s, Cause::lease}}},
    {"PROGRAM was run for fear of a loss, which then comes: it is not run again",
     {.on_lost = OnLost::exec},
     {{Event::nothing, 24s, Step::program, 29s, Cause::lease},
      {Event::lost, 25s, Step::none, 29s, Cause::lease},
      {Event::renewed, 26s, Step::none, 30s, Cause::lease}}},
    {"PROGRAM was called off, and the time comes",
     {.on_lost = OnLost::exec, .at_most = 40s},
     {{Event::nothing, 24s, Step::program, 29s, Cause::lease},
      {Event::renewed, 26s, Step::none, 40s, Cause::none},
      {Event::nothing, 40s, Step::term, 45s, Cause::time}}},
    {"PROGRAM was run, and the time comes beside it",
     {.on_lost = OnLost::exec, .at_most = 26s},
     {{Event::nothing, 24s, Step::program, 26s, Cause::lease},
      {Event::nothing, 26s, Step::term, 29s, Cause::time},
      {Event::nothing, 29s, Step::kill, 29s, Cause::time}}},
    {"the time has told CMD: PROGRAM has nothing to add",
     {.on_lost = OnLost::exec, .at_most = 22s},
     {{Event::nothing, 22s, Step::term, 27s, Cause::time},
      {Event::nothing, 25s, Step::none, 27s, Cause::time},
      {Event::nothing, 27s, Step::kill, 27s, Cause::time}}},
    {"CMD ends by itself: the rest is told, and that is nobody's fault",
     {},
     {{Event::ended, 10s, Step::term, 12s, Cause::none},
      {Event::renewed, 11s, Step::none, 12s, Cause::none},
      {Event::nothing, 12s, Step::kill, 12s, Cause::none}}},
    {"CMD ends behind PROGRAM: the rest is told, and no renewal changes why",
     {.on_lost = OnLost::exec},
     {{Event::nothing, 24s, Step::program, 29s, Cause::lease},
      {Event::ended, 25s, Step::term, 27s, Cause::lease},
      {Event::renewed, 26s, Step::none, 27s, Cause::lease}}},
    {"CMD ends behind TERM: the rest has what is left of the grace",
     {},
     {{Event::lost, 10s, Step::term, 15s, Cause::lease}, {Event::ended, 11s, Step::term, 15s, Cause::lease}}},
    {"main is gone", {.on_lost = OnLost::exec}, {{Event::main_gone, 10s, Step::kill, -1000s, Cause::lease}}},
};

TEST(Schedule, goes_step_by_step) {
  for (const Course& course : courses) {
    Schedule schedule(schedule_start + 30s, 30s, course.ending);
    schedule.started(schedule_start, course.ending.at_most);
    for (const Event& event : course.events) {
      SCOPED_TRACE(std::string(course.what) + ", at " + std::to_string(event.at.count()));
      const Instant now = schedule_start + event.at;
      switch (event.what) {
        case Event::nothing: break;
        case Event::renewed: schedule.renewed(now + 30s); break;
        case Event::lost: schedule.lost(now, schedule.grace()); break;
        case Event::main_gone: schedule.main_gone(); break;
        case Event::ended: schedule.ended(now); break;
      }
      EXPECT_EQ(schedule.due(now), event.due);
      if (event.due != Step::none) schedule.did(event.due, now);
      EXPECT_EQ(std::max(schedule.next_at(), Instant{}), schedule_start + event.next);
      EXPECT_EQ(schedule.cause(), event.cause);
    }
  }
}

TEST(Schedule, leaves_a_program_its_time_though_the_command_has_ended) {
  Schedule schedule(schedule_start + 30s, 30s, {.on_lost = OnLost::exec});
  schedule.did(Step::program, schedule_start + 24s);
  schedule.ended(schedule_start + 24s);
  EXPECT_EQ(schedule.kill_at(), schedule_start + 26s);
  EXPECT_EQ(schedule.kill_program_at(), schedule_start + 29s);
  schedule.renewed(schedule_start + 60s);  // it has its grace and no more
  EXPECT_EQ(schedule.kill_program_at(), schedule_start + 29s);
  schedule.main_gone();
  EXPECT_LT(schedule.kill_program_at(), schedule_start);
}

TEST(Schedule, ends_a_program_in_time_that_came_late) {
  Schedule schedule(schedule_start + 30s, 30s, {.on_lost = OnLost::exec});
  schedule.did(Step::program, schedule_start + 27s);
  EXPECT_EQ(schedule.kill_program_at(), schedule_start + 29s);
}

TEST(Schedule, leaves_time_to_renew_whatever_grace_is_allowed) {
  for (Millis ttl = 20ms; ttl < 24h; ttl = ttl * 3 / 2) {
    const Schedule schedule(schedule_start + ttl, ttl, {.kill_after = Schedule::longest_grace(ttl)});
    EXPECT_GT(schedule.term_at(), schedule_start + ttl / 2) << ttl.count();  // the keeper begins at a third
  }
}

TEST(Schedule, begins_nothing_when_the_deadline_is_near_whatever_is_done_about_a_loss) {
  for (const OnLost on_lost : {OnLost::term, OnLost::kill, OnLost::ignore, OnLost::exec}) {
    const Schedule schedule(schedule_start + 30s, 30s, {.on_lost = on_lost});
    EXPECT_TRUE(schedule.may_start(schedule_start + 23s));
    EXPECT_FALSE(schedule.may_start(schedule_start + 24s));
  }
}

TEST(Schedule, at_once_is_at_once) {
  Schedule schedule(schedule_start + 30s, 30s);
  schedule.kill_now();
  EXPECT_LT(schedule.kill_at(), schedule_start);
}

TEST(Schedule, a_lease_without_end_is_not_ended) {
  const Schedule schedule(Instant::max(), Millis(never));
  EXPECT_GT(schedule.term_at(), schedule_start + 1000h);
}

}  // namespace
}  // namespace holdfast::cli
