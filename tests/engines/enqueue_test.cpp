// SPDX-License-Identifier: Apache-2.0
// Enqueueing, slots, ticks, and what people do by hand, on every store that keeps jobs.
#include "tests/engines/suite.h"

namespace holdfast::test {
namespace {

class Enqueue : public Engine {};

TEST_P(Enqueue, an_enqueued_job_says_what_it_is) {
  const EnqueueReply told = a_.enqueue("k", {.name = "Räum auf",
                                             .queue = "q",
                                             .args = "[1,\"x\"]",
                                             .priority = 7,
                                             .max_attempts = 4,
                                             .lock_ttl = 90s,
                                             .lock_fixed = true,
                                             .limit = 2,
                                             .on_conflict = OnConflict::wait,
                                             .unique = Unique::until_start});
  EXPECT_EQ(told.what, EnqueueOutcome::enqueued);
  const JobRow row = b_.row(told.id);
  EXPECT_EQ(row.name, "Räum auf");
  EXPECT_EQ(row.queue, "q");
  EXPECT_EQ(row.args, "[1,\"x\"]");
  EXPECT_EQ(row.key, "k");
  EXPECT_EQ(row.priority, 7);
  EXPECT_EQ(row.max_attempts, 4);
  EXPECT_EQ(row.lock_ttl, 90s);
  EXPECT_TRUE(row.lock_fixed);
  EXPECT_EQ(row.limit, 2);
  EXPECT_EQ(row.on_conflict, OnConflict::wait);
  EXPECT_EQ(row.unique, Unique::until_start);
  EXPECT_TRUE(row.slotted);
  EXPECT_EQ(row.state, JobState::queued);
  EXPECT_EQ(row.run_at, row.enqueued_at);
  EXPECT_EQ(row.duplicates, 0u);
  EXPECT_TRUE(row.trail.empty());
  EXPECT_GT(told.now, Moment(std::chrono::hours(24) * 365 * 50));
}

TEST_P(Enqueue, the_first_moment_of_1970_is_a_moment_to_run_at) {
  EXPECT_LT(a_.row(a_.enqueue("k", {.at = Moment{}, .in = 1h}).id).run_at, Moment(1s));
}

TEST_P(Enqueue, a_job_that_is_no_loner_is_enqueued_as_often_as_one_likes) {
  EXPECT_NE(a_.enqueue("k").id, a_.enqueue("k").id);
}

TEST_P(Enqueue, a_loner_is_enqueued_once_while_it_is_queued_and_while_it_runs) {
  const EnqueueReply first = a_.loner("k");
  const EnqueueReply second = b_.loner("k");
  EXPECT_EQ(second.what, EnqueueOutcome::duplicate);
  EXPECT_EQ(second.id, first.id);
  EXPECT_EQ(second.state, JobState::queued);
  EXPECT_TRUE(second.since);
  const Claimed claimed = a_.claim("w1");
  EXPECT_EQ(b_.loner("k").state, JobState::running);
  EXPECT_EQ(a_.row(first.id).duplicates, 2u);
  EXPECT_EQ(a_.loner("K").what, EnqueueOutcome::enqueued);  // another key
  a_.finish(claimed);
  EXPECT_EQ(b_.loner("k").what, EnqueueOutcome::enqueued);
}

TEST_P(Enqueue, a_loner_is_not_enqueued_while_somebody_else_holds_its_lock) {
  lease_.acquire("k", "operator");
  const EnqueueReply told = a_.loner("k");
  EXPECT_EQ(told.what, EnqueueOutcome::locked);
  EXPECT_EQ(told.owner, "operator");
  EXPECT_EQ(a_.list({}).size(), 0u);
  lease_.release("k", "operator");
  EXPECT_EQ(a_.loner("k").what, EnqueueOutcome::enqueued);
}

TEST_P(Enqueue, a_retry_keeps_the_slot_and_the_end_frees_it) {
  a_.loner("k");
  a_.finish(a_.claim("w1"), JobState::queued, {.error = "x"});
  EXPECT_EQ(a_.loner("k").what, EnqueueOutcome::duplicate);
  a_.finish(a_.claim("w1"), JobState::dead, {.error = "x"});
  EXPECT_EQ(a_.loner("k").what, EnqueueOutcome::enqueued);
}

TEST_P(Enqueue, a_dropped_job_frees_its_slot) {
  a_.loner("k");
  lease_.acquire("k", "operator");
  EXPECT_EQ(a_.claim("w1").what, Got::dropped);
  lease_.release("k", "operator");
  EXPECT_EQ(a_.loner("k").what, EnqueueOutcome::enqueued);
}

TEST_P(Enqueue, cancel_and_remove_free_the_slot) {
  EXPECT_TRUE(a_.change(a_.loner("k").id, JobChange::cancel).has_value());
  const JobId second = a_.loner("k").id;
  EXPECT_TRUE(a_.change(second, JobChange::remove).has_value());
  EXPECT_TRUE(a_.list({.id = second}).empty());
  EXPECT_EQ(a_.loner("k").what, EnqueueOutcome::enqueued);
}

TEST_P(Enqueue, until_start_leaves_room_for_one_more_while_it_runs) {
  const NewJob until_start{.on_conflict = OnConflict::wait, .unique = Unique::until_start};
  a_.enqueue("k", until_start);
  EXPECT_EQ(a_.enqueue("k", until_start).what, EnqueueOutcome::duplicate);
  const Claimed first = a_.claim("w1");
  EXPECT_EQ(a_.enqueue("k", until_start).what, EnqueueOutcome::enqueued);
  EXPECT_EQ(a_.enqueue("k", until_start).what, EnqueueOutcome::duplicate);
  EXPECT_EQ(a_.claim("w2").what, Got::nothing);
  a_.finish(first);
  EXPECT_EQ(a_.claim("w2").what, Got::running);
}

TEST_P(Enqueue, until_success_keeps_the_slot_of_a_dead_job_until_an_operator_acts) {
  const NewJob until_success{.unique = Unique::until_success};
  const JobId id = a_.enqueue("k", until_success).id;
  a_.finish(a_.claim("w1"), JobState::dead, {.error = "x"});
  EXPECT_EQ(a_.enqueue("k", until_success).state, JobState::dead);
  EXPECT_EQ(a_.change(id, JobChange::retry).value().state, JobState::queued);
  EXPECT_EQ(a_.enqueue("k", until_success).what, EnqueueOutcome::duplicate);
  a_.finish(a_.claim("w1"));
  EXPECT_EQ(a_.enqueue("k", until_success).what, EnqueueOutcome::enqueued);
}

TEST_P(Enqueue, replace_gives_a_queued_job_the_new_arguments) {
  NewJob job{.args = "[1]", .in = 1h, .on_conflict = OnConflict::replace};
  const JobId id = a_.loner("k", job).id;
  job.args = "[2]";
  job.in = 0ms;
  job.priority = 3;
  const EnqueueReply told = a_.loner("k", job);
  EXPECT_EQ(told.what, EnqueueOutcome::replaced);
  EXPECT_EQ(told.id, id);
  const Claimed claimed = a_.claim("w1");
  EXPECT_EQ(claimed.job.args, "[2]");
  EXPECT_EQ(claimed.job.priority, 3);
  EXPECT_EQ(a_.loner("k", job).what, EnqueueOutcome::duplicate);  // one that runs is not changed
  EXPECT_EQ(a_.row(id).duplicates, 2u);
}

TEST_P(Enqueue, a_window_takes_one_job_even_if_that_is_over) {
  const NewJob hourly{.tick_name = "window:k", .window = std::chrono::hours(24 * 365 * 100)};
  const JobId id = a_.enqueue("k", hourly).id;
  a_.finish(a_.claim("w1"));
  const EnqueueReply told = b_.enqueue("k", hourly);
  EXPECT_EQ(told.what, EnqueueOutcome::duplicate);
  EXPECT_EQ(told.id, id);
  EXPECT_EQ(told.state, JobState::done);
  EXPECT_TRUE(a_.change(id, JobChange::remove).has_value());
  EXPECT_EQ(b_.enqueue("k", hourly).what,
            EnqueueOutcome::duplicate);  // it does not depend on what is kept of it
  NewJob other = hourly;
  other.tick_name = "window:other";
  EXPECT_EQ(b_.enqueue("k", other).what, EnqueueOutcome::enqueued);
}

TEST_P(Enqueue, a_short_window_passes) {
  const NewJob often{.tick_name = "often", .window = 20ms};
  EXPECT_EQ(a_.enqueue("k", often).what, EnqueueOutcome::enqueued);
  EXPECT_TRUE(await([&] { return a_.enqueue("k", often).what == EnqueueOutcome::enqueued; }));
}

TEST_P(Enqueue, a_longer_window_begins_where_the_clock_is) {
  // Named by its number in its own length, a tick of the longer one would come before that of the shorter.
  NewJob job{.tick_name = "w", .window = std::chrono::hours(24)};
  EXPECT_EQ(a_.enqueue("k", job).what, EnqueueOutcome::enqueued);
  job.window = 7ms;
  EXPECT_TRUE(await([&] { return a_.enqueue("k", job).what == EnqueueOutcome::enqueued; }));
  job.window = 1s;
  EXPECT_TRUE(await([&] { return a_.enqueue("k", job).what == EnqueueOutcome::enqueued; }));
}

TEST_P(Enqueue, replacing_a_job_that_is_being_retried_gives_it_all_its_attempts) {
  NewJob job{.args = "[1]", .max_attempts = 2, .on_conflict = OnConflict::replace};
  const JobId id = a_.loner("k", job).id;
  a_.finish(a_.claim("w1"), JobState::queued, {.in = 1h, .error = "x"});
  job.args = "[2]";
  job.max_attempts = 3;
  EXPECT_EQ(a_.loner("k", job).what, EnqueueOutcome::replaced);
  const JobRow row = a_.row(id);
  EXPECT_EQ(row.attempt, 0);
  EXPECT_EQ(row.crashes, 0);
  EXPECT_EQ(row.max_attempts, 3);
  EXPECT_EQ(row.error, "");
  EXPECT_EQ(a_.claim("w1").job.args, "[2]");
}

TEST_P(Enqueue, a_tick_is_enqueued_once_and_never_an_earlier_one) {
  const auto at = [](std::int64_t tick) { return NewJob{.tick_name = "cron:nightly", .tick = tick}; };
  EXPECT_EQ(a_.enqueue("k", at(10)).what, EnqueueOutcome::enqueued);
  EXPECT_EQ(b_.enqueue("k", at(10)).what, EnqueueOutcome::duplicate);
  EXPECT_EQ(b_.enqueue("k", at(9)).what, EnqueueOutcome::duplicate);
  EXPECT_EQ(b_.enqueue("k", at(11)).what, EnqueueOutcome::enqueued);
}

TEST_P(Enqueue, a_job_that_was_not_enqueued_takes_no_tick) {
  const NewJob tick{.tick_name = "t", .tick = 1};
  lease_.acquire("k", "operator");
  EXPECT_EQ(a_.loner("k", tick).what, EnqueueOutcome::locked);
  lease_.release("k", "operator");
  EXPECT_EQ(a_.loner("k", tick).what, EnqueueOutcome::enqueued);
}

TEST_P(Enqueue, one_of_all_takes_a_tick) {
  EXPECT_TRUE(a_.take_tick("report", 5).taken);
  const TickRow second = b_.take_tick("report", 5);
  EXPECT_FALSE(second.taken);
  EXPECT_EQ(second.by, "me");
  EXPECT_TRUE(second.at);
  EXPECT_FALSE(b_.take_tick("report", 4).taken);
  EXPECT_TRUE(b_.take_tick("report", 6).taken);
  EXPECT_TRUE(b_.take_tick("other", 1).taken);
  EXPECT_EQ(a_.engine().tick("report", soon()).value().tick, 6);
  EXPECT_EQ(a_.engine().tick("nobody", soon()).value().tick, -1);
}

TEST_P(Enqueue, a_tick_of_a_period_is_the_stores_clocks) {
  const Tick tick{.name = "report", .period = std::chrono::hours(24 * 365 * 100), .by = "me"};
  const TickRow first = a_.engine().take_tick(tick, soon()).value();
  EXPECT_TRUE(first.taken);
  EXPECT_EQ(first.tick, 0);
  EXPECT_FALSE(b_.engine().take_tick(tick, soon()).value().taken);
}

TEST_P(Enqueue, a_success_is_remembered) {
  EXPECT_FALSE(a_.engine().tick("report", soon()).value().success);
  ASSERT_TRUE(a_.engine().note_success("report", "me", soon()).has_value());
  const TickRow row = b_.engine().tick("report", soon()).value();
  EXPECT_TRUE(row.success);
  EXPECT_LE(row.success, row.now);
  EXPECT_EQ(row.by, "me");
  EXPECT_TRUE(a_.take_tick("report", 1).taken);
  EXPECT_EQ(b_.engine().tick("report", soon()).value().success, row.success);
}

TEST_P(Enqueue, a_dropped_job_is_queued_again_by_hand) {
  lease_.acquire("k", "operator");
  const JobId id = a_.enqueue("k").id;
  a_.claim("w1");
  lease_.release("k", "operator");
  const JobRow row = a_.change(id, JobChange::retry).value();
  EXPECT_EQ(row.state, JobState::queued);
  EXPECT_NE(trail_text(row).find("retried olga"), std::string::npos);
  EXPECT_EQ(a_.claim("w1").job.id, id);
}

TEST_P(Enqueue, a_dead_job_that_is_retried_begins_again_with_its_attempts) {
  const JobId id = a_.enqueue("k").id;
  a_.finish(a_.claim("w1"), JobState::dead, {.error = "x"});
  ASSERT_EQ(a_.row(id).attempt, 1);
  const JobRow row = a_.change(id, JobChange::retry).value();
  EXPECT_EQ(row.attempt, 0);
  EXPECT_EQ(row.error, "");
  EXPECT_EQ(a_.claim("w1").job.attempt, 1);
}

TEST_P(Enqueue, what_does_not_fit_its_state_is_refused_by_name) {
  const JobId id = a_.loner("k").id;
  EXPECT_EQ(a_.change(id, JobChange::retry).error().code, Errc::invalid);
  const Claimed claimed = a_.claim("w1");
  EXPECT_EQ(a_.change(id, JobChange::remove).error().code, Errc::invalid);
  a_.finish(claimed);
  EXPECT_EQ(a_.change(id, JobChange::cancel).error().code, Errc::invalid);
  const JobId other = a_.loner("k").id;
  const auto taken = a_.change(id, JobChange::retry);
  ASSERT_FALSE(taken.has_value());
  EXPECT_NE(taken.error().detail.find("job " + std::to_string(to_number(other)) +
                                      " with the same key is queued or running"),
            std::string::npos)
      << taken.error().detail;
  EXPECT_EQ(a_.row(id).state, JobState::done);
  EXPECT_EQ(a_.change(JobId{987654}, JobChange::cancel).error().detail, "there is no job 987654 here");
}

TEST_P(Enqueue, jobs_are_listed_the_newest_first_by_what_one_asks_for) {
  const JobId one = a_.enqueue("1", {.name = "A"}).id;
  const JobId two = a_.enqueue("2", {.name = "B", .queue = "q"}).id;
  const JobId three = a_.enqueue("3", {.name = "A"}).id;
  a_.finish(a_.claim("w1"));
  const auto ids = [&](const JobQuery& query) {
    std::vector<std::uint64_t> found;
    for (const JobRow& row : a_.list(query)) found.push_back(to_number(row.id));
    return found;
  };
  using Ids = std::vector<std::uint64_t>;
  EXPECT_EQ(ids({}), (Ids{to_number(three), to_number(two), to_number(one)}));
  EXPECT_EQ(ids({.name = "A"}), (Ids{to_number(three), to_number(one)}));
  EXPECT_EQ(ids({.queue = "q"}), (Ids{to_number(two)}));
  EXPECT_EQ(ids({.key = "3"}), (Ids{to_number(three)}));
  EXPECT_EQ(ids({.state = JobState::done}), (Ids{to_number(one)}));
  EXPECT_EQ(ids({.before = three, .limit = 1}), (Ids{to_number(two)}));
  EXPECT_EQ(ids({.key = "nothing"}), Ids{});
}

TEST_P(Enqueue, what_is_over_is_purged_and_the_rest_stays) {
  const JobId dead = a_.enqueue("dead").id;
  a_.finish(a_.claim("w1"), JobState::dead, {.error = "x"});
  a_.enqueue("done"), a_.finish(a_.claim("w1"));
  const JobId queued = a_.enqueue("queued").id;
  EXPECT_EQ(a_.engine().purge({}, soon()).value(), 0u);
  EXPECT_TRUE(await([&] { return a_.engine().purge({.older_than = 1ms}, soon()).value() == 1; }));
  const auto rest = a_.list({});
  ASSERT_EQ(rest.size(), 2u);
  EXPECT_EQ(rest[0].id, queued);
  EXPECT_EQ(rest[1].id, dead);
}

TEST_P(Enqueue, texts_of_all_kinds_come_back_as_they_were) {
  const std::string args = "[\"" + std::string(20000, 'x') + "\",\"ü😀'\\\"%_\"]";
  const std::string key = "lock:Ü'\"\\%_{}$.:" + std::string(400, 'k');
  const JobId id = a_.loner(key, {.name = "a'b\"c{}", .queue = "q'1{}", .args = args}).id;
  const Claimed claimed = a_.claim("w1", 1h, {"q'1{}"});
  EXPECT_EQ(claimed.job.args, args);
  EXPECT_EQ(claimed.job.name, "a'b\"c{}");
  EXPECT_EQ(claimed.job.lock, key);
  a_.finish(claimed, JobState::dead, {.error = "it's \"ü\" %s {}"});
  EXPECT_EQ(a_.row(id).error, "it's \"ü\" %s {}");
}

HOLDFAST_ON_STORES(Enqueue, job_kinds());

}  // namespace
}  // namespace holdfast::test
