// SPDX-License-Identifier: Apache-2.0
// Jobs in Redis: where they lie, what they cost, and what becomes of them when the server has trouble.
#include <algorithm>
#include <sstream>
#include <thread>

#include "tests/redis/suite.h"
#include "tests/support/worker.h"

namespace holdfast::test {
namespace {

class JobsOfRedis : public RedisTest {
 protected:
  // How often the server has run each command, but for those with which we ask it.
  std::uint64_t commands() {
    std::istringstream lines(redis({"INFO", "commandstats"}));
    std::uint64_t sum = 0;
    for (std::string line; std::getline(lines, line);) {
      const std::size_t calls = line.find("calls=");
      const bool ours = line.find("cmdstat_info") != std::string::npos;
      if (calls != std::string::npos && !ours) sum += std::stoull(line.substr(calls + 6));
    }
    return sum;
  }
  // Somebody has all leases of a key, without end.
  void hold_all(const std::string& key, int limit) {
    redis({"EVAL", "for n = 1, tonumber(ARGV[1]) do redis.call('SET', KEYS[1] .. '#' .. n, 'operator') end",
           "1", key, std::to_string(limit)});
  }
  std::vector<std::string> keys(const std::string& pattern) {
    std::istringstream lines(redis({"KEYS", pattern}));
    std::vector<std::string> found;
    for (std::string line; std::getline(lines, line);) found.push_back(line);
    return found;
  }

  Worker worker_{server_.url()};
};

TEST_F(JobsOfRedis, a_job_lies_where_it_is_documented) {
  worker_.loner("lock:Job:1");
  EXPECT_EQ(redis({"HGET", "holdfast:jobs:job:1", "state"}), "queued");
  EXPECT_EQ(redis({"GET", "holdfast:jobs:slot:lock:Job:1"}), "1");
  EXPECT_EQ(redis({"ZCARD", "holdfast:jobs:ready:default"}), "1");
  EXPECT_EQ(redis({"ZSCORE", "holdfast:jobs:ids", "1"}), "1");
  EXPECT_EQ(redis({"ZSCORE", "holdfast:jobs:of:lock:Job:1", "1"}), "1");
  const Claimed claimed = worker_.claim("w1");
  EXPECT_EQ(redis({"GET", "lock:Job:1"}), "w1") << "an ordinary lease";
  EXPECT_EQ(redis({"EXISTS", "holdfast:jobs:ready:default"}), "0");
  EXPECT_EQ(redis({"ZCARD", "holdfast:jobs:running:default"}), "1");
  worker_.finish(claimed);
  EXPECT_EQ(redis({"EXISTS", "holdfast:jobs:running:default", "holdfast:jobs:slot:lock:Job:1"}), "0");
  EXPECT_EQ(redis({"ZCARD", "holdfast:jobs:over"}), "1");
  worker_.enqueue("k", {.in = 1h});
  EXPECT_EQ(redis({"ZCARD", "holdfast:jobs:later:default"}), "1");
}

TEST_F(JobsOfRedis, nothing_of_a_job_runs_out_and_nothing_is_left_when_it_is_removed) {
  const NewJob waits{.on_conflict = OnConflict::wait, .tick_name = "t", .tick = 1};
  worker_.enqueue("k", waits);
  const Claimed running = worker_.claim("w1");
  worker_.enqueue("k", {.on_conflict = OnConflict::wait, .unique = Unique::until_start});
  worker_.claim("w2");
  EXPECT_EQ(redis({"ZCARD", "holdfast:jobs:waiting:default"}), "1");
  EXPECT_EQ(redis({"ZCARD", "holdfast:jobs:parked:k"}), "1");
  for (const std::string& key : keys("holdfast:jobs:*")) EXPECT_EQ(redis({"PTTL", key}), "-1") << key;
  worker_.finish(running);
  for (const JobRow& row : worker_.list({})) EXPECT_TRUE(worker_.change(row.id, JobChange::remove));
  for (const std::string& key : keys("holdfast:jobs:*"))
    EXPECT_TRUE(key == "holdfast:jobs:last" || key == "holdfast:jobs:tick:t") << key;
}

TEST_F(JobsOfRedis, jobs_of_two_prefixes_are_apart_whatever_these_are) {
  Worker one(server_.url() + "?prefix=a"), two(server_.url() + "?prefix=a:slot:k");
  one.loner("slot:k:x"), two.loner("x");
  EXPECT_EQ(redis({"GET", "holdfast:jobs:=1:a:slot:slot:k:x"}), "1");
  EXPECT_EQ(redis({"GET", "holdfast:jobs:=8:a:slot:k:slot:x"}), "1");
  EXPECT_EQ(worker_.claim("w").what, Got::nothing);
  EXPECT_EQ(one.claim("w").job.key, "slot:k:x");
  EXPECT_EQ(redis({"GET", "aslot:k:x"}), "w");
  EXPECT_EQ(two.claim("w").job.key, "x");
  Worker in_table(try_store(server_.url()).value()->in("jobs").value());
  in_table.loner("k");
  EXPECT_EQ(redis({"GET", "holdfast:jobs:=5:jobs::slot:k"}), "1");
}

TEST_F(JobsOfRedis, a_slot_whose_job_is_gone_is_free) {
  worker_.loner("k");
  redis({"DEL", "holdfast:jobs:job:1"});
  EXPECT_EQ(redis({"GET", "holdfast:jobs:slot:k"}), "1");
  const EnqueueReply told = worker_.loner("k");
  EXPECT_EQ(told.what, EnqueueOutcome::enqueued);
  EXPECT_EQ(worker_.claim("w").job.id, told.id) << "and what is left of the first stands in nobody's way";
  EXPECT_EQ(redis({"EXISTS", "holdfast:jobs:ready:default"}), "0");
}

TEST_F(JobsOfRedis, a_slot_counts_only_if_its_job_says_so_too) {
  worker_.loner("k");
  worker_.finish(worker_.claim("w"));
  redis({"SET", "holdfast:jobs:slot:k", "1"});
  EXPECT_EQ(worker_.loner("k").what, EnqueueOutcome::enqueued);
}

TEST_F(JobsOfRedis, a_name_of_ours_is_no_lock) {
  const auto told = worker_.engine().enqueue(job_of("holdfast:index"), soon());
  ASSERT_FALSE(told);
  EXPECT_EQ(told.error().code, Errc::refused);
  EXPECT_TRUE(mentions(told.error().detail, "holdfast:index")) << told.error().detail;
  EXPECT_TRUE(worker_.list({}).empty());
}

TEST_F(JobsOfRedis, what_lies_where_its_lock_would_counts_as_held) {
  redis({"HSET", "cart", "apples", "3"});
  const EnqueueReply told = worker_.loner("cart");
  EXPECT_EQ(told.what, EnqueueOutcome::locked);
  EXPECT_EQ(told.owner, "(not a lease: a hash)");
  worker_.enqueue("cart");
  const Claimed claimed = worker_.claim("w");
  EXPECT_EQ(claimed.what, Got::dropped);
  EXPECT_EQ(claimed.blocker, "(not a lease: a hash)");
}

TEST_F(JobsOfRedis, a_far_time_a_past_one_and_extreme_priorities_keep_their_order) {
  const auto id = [&](const NewJob& job) { return to_number(worker_.enqueue("", job).id); };
  const NewJob plain{.limit = 0};
  const auto with = [&](int priority, Micros since_1970) {
    NewJob job = plain;
    job.priority = priority;
    job.at = Moment(since_1970);
    return job;
  };
  const std::uint64_t last = id(with(2147483647, Micros(5)));
  const std::uint64_t second = id(with(0, Micros(-7)));
  const std::uint64_t first = id(with(-2147483647 - 1, Micros(9)));
  const std::uint64_t never_due = id(with(0, Micros(9'000'000'000'000'000'000)));
  const std::uint64_t third = id(with(0, Micros(7)));
  for (const std::uint64_t expected : {first, second, third, last})
    EXPECT_EQ(to_number(worker_.claim("w").job.id), expected);
  EXPECT_EQ(worker_.claim("w").next, 1min);
  EXPECT_EQ(worker_.row(JobId{never_due}).run_at, Moment(Micros(9'000'000'000'000'000'000)));
  EXPECT_EQ(worker_.row(JobId{second}).run_at, Moment(Micros(-7)));
}

TEST_F(JobsOfRedis, more_than_are_moved_at_once_become_due_and_all_are_claimed) {
  constexpr int many = 1500;
  for (int i = 0; i < many; ++i) worker_.enqueue("", {.in = 1ms, .limit = 0});
  int claimed = 0;
  ASSERT_TRUE(await([&] {
    while (worker_.claim("w").what == Got::running) ++claimed;
    return claimed == many;
  }));
}

// Beside the one that is claimed: those that wait for a worker, for their time, for their lock, and those
// that are over.  One of each is made as always, the others are its copies: so many takes long otherwise.
TEST_F(JobsOfRedis, a_claim_costs_as_many_commands_among_100000_jobs_as_among_1000) {
  Caller somebody(server_.url());
  somebody.acquire("held", "operator");
  worker_.enqueue("", {.queue = "q", .limit = 0});
  worker_.finish(worker_.claim("w", 1h, {"q"}));
  worker_.enqueue("held", {.queue = "q", .on_conflict = OnConflict::wait});
  worker_.enqueue("held", {.queue = "q", .on_conflict = OnConflict::wait});
  EXPECT_EQ(worker_.claim("w", 1h, {"q"}).what, Got::nothing);  // the second counts on the first
  worker_.enqueue("", {.queue = "q", .priority = 9, .in = 1h, .limit = 0});
  worker_.enqueue("", {.queue = "q", .priority = 9, .limit = 0});
  const auto copy = [&](const std::string& id, int count, const std::vector<std::string>& sets) {
    std::vector<std::string> words{"EVAL", R"(
        local job, jobs = ARGV[1], 'holdfast:jobs:'
        for _ = 1, tonumber(ARGV[2]) do
          local id = redis.call('INCR', jobs .. 'last')
          redis.call('COPY', jobs .. 'job:' .. job, jobs .. 'job:' .. id)
          redis.call('ZADD', jobs .. 'ids', id, id)
          for _, set in ipairs(KEYS) do
            local f = redis.call('HMGET', jobs .. 'job:' .. job, 'priority', 'run_at')
            local order = string.format('%010.0f%017.0f%016.0f', f[1] + 2147483648, f[2], job)
            local score = redis.call('ZSCORE', set, order)
            local twin = score and string.sub(order, 1, 27) .. string.format('%016.0f', id) or id
            redis.call('ZADD', set, score or redis.call('ZSCORE', set, job), twin)
          end
        end)",
                                   std::to_string(sets.size())};
    for (const std::string& set : sets) words.push_back("holdfast:jobs:" + set);
    words.insert(words.end(), {id, std::to_string(count)});
    EXPECT_EQ(redis(words), "(nil)");
  };
  const auto fill = [&](int each) {
    copy("1", each, {"over"});
    copy("3", each, {"waiting:q", "parked:held"});
    copy("4", each, {"later:q"});
    copy("5", each, {"ready:q"});
  };
  // The first parked job checks its lock once a second, and it may do so just now.
  const auto cost = [&] {
    std::uint64_t least = 1'000'000;
    for (int i = 0; i < 5; ++i) {
      worker_.enqueue("mine", {.queue = "q", .on_conflict = OnConflict::wait});
      const std::uint64_t before = commands();
      const Claimed claimed = worker_.claim("w", 1h, {"q"});
      least = std::min(least, commands() - before);
      EXPECT_EQ(claimed.job.key, "mine");
      worker_.finish(claimed);
    }
    return least;
  };
  fill(250);
  const std::uint64_t few = cost();
  fill(24'750);
  EXPECT_EQ(redis({"ZCARD", "holdfast:jobs:parked:held"}).size(), 5u);
  const std::uint64_t many = cost();
  EXPECT_EQ(many, few);
  EXPECT_GT(few, 10u) << "nothing was counted";
  EXPECT_LT(few, 50u);
  EXPECT_GT(to_number(worker_.claim("w", 1h, {"q"}).job.id), 4u) << "the copies are jobs";
  somebody.release("held", "operator");
  ASSERT_TRUE(await([&] { return worker_.claim("w", 1h, {"q"}).job.key == "held"; }));
}

// One claim is one script, and nobody else is served meanwhile.
TEST_F(JobsOfRedis, what_waits_for_the_same_leases_does_not_ask_for_each_of_them_again) {
  hold_all("k", 200);
  const NewJob waits{.limit = 200, .on_conflict = OnConflict::wait};
  for (int i = 0; i < 50; ++i) worker_.enqueue("k", waits);
  const std::uint64_t before = commands();
  EXPECT_EQ(worker_.claim("w").what, Got::nothing);
  EXPECT_LT(commands() - before, 3'000u) << "there are 200 leases and 50 jobs";
  for (const JobRow& row : worker_.list({})) EXPECT_TRUE(row.parked) << to_number(row.id);
  redis({"DEL", "k#77"});
  Claimed claimed;
  ASSERT_TRUE(await([&] { return (claimed = worker_.claim("w")).what == Got::running; }));
  EXPECT_EQ(to_number(claimed.job.id), 1u);
  EXPECT_EQ(claimed.job.lock, "k#77");
}

TEST_F(JobsOfRedis, a_claim_that_has_read_very_many_leases_continues_when_it_is_sent_again) {
  const NewJob waits{.limit = 500, .on_conflict = OnConflict::wait};
  for (const char* key : {"a", "b", "c", "d", "e", "f"}) {
    hold_all(key, 500);
    worker_.enqueue(key, waits);
  }
  worker_.enqueue("free", waits);
  const Claimed first = worker_.claim("w");
  EXPECT_EQ(first.what, Got::nothing);
  EXPECT_EQ(first.next, 0ms);
  const auto rows = worker_.list({});
  EXPECT_EQ(std::count_if(rows.begin(), rows.end(), [](const JobRow& row) { return row.parked; }), 4);
  EXPECT_TRUE(await([&] { return worker_.claim("w").job.key == "free"; }));
}

// The arguments may be a megabyte each.
TEST_F(JobsOfRedis, a_job_that_is_only_set_aside_is_not_read_as_a_whole) {
  Caller(server_.url()).acquire("k", "operator");
  const std::string args(1'000, 'x');
  for (int i = 0; i < 3; ++i) worker_.enqueue("k", {.args = args, .on_conflict = OnConflict::wait});
  redis({"CONFIG", "RESETSTAT"});
  EXPECT_EQ(worker_.claim("w").what, Got::nothing);
  const std::string stats = redis({"INFO", "commandstats"});
  EXPECT_FALSE(mentions(stats, "cmdstat_hgetall")) << stats;
  EXPECT_FALSE(mentions(stats, "cmdstat_hget:")) << stats;
  EXPECT_EQ(worker_.row(JobId{2}).args, args);
  EXPECT_EQ(worker_.change(JobId{2}, JobChange::remove).value().args, args);
}

// -- the server has trouble

TEST_F(JobsOfRedis, the_largest_arguments_of_many_jobs_are_listed_in_several_answers) {
  const std::string args = "[\"" + std::string((1 << 20) - 4, 'x') + "\"]";
  for (int i = 0; i < 70; ++i) worker_.enqueue("k" + std::to_string(i), {.args = args});
  const auto rows = worker_.list({.limit = 100});
  ASSERT_EQ(rows.size(), 70u);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    EXPECT_EQ(to_number(rows[i].id), 70 - i);
    EXPECT_TRUE(rows[i].args == args) << i;
  }
  EXPECT_EQ(worker_.list({.limit = 9}).size(), 9u);
}

// Written by another program.
TEST_F(JobsOfRedis, a_job_with_far_too_long_arguments_hides_no_other_and_shows_only_their_length) {
  worker_.enqueue("k", {.args = "[1]"});
  worker_.enqueue("huge", {.args = "[2]"});
  worker_.enqueue("l", {.args = "[3]"});
  const std::string job = redis({"EVAL", "return redis.call('KEYS', '*job:2')[1]", "0"});
  redis({"EVAL", "redis.call('HSET', KEYS[1], 'args', string.rep('x', 65 * 1024 * 1024))", "1", job});
  const auto rows = worker_.list({});
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(rows[0].args, "[3]");
  EXPECT_EQ(rows[1].args, "(68157440 bytes of arguments, more than a job can have)");
  EXPECT_EQ(rows[2].args, "[1]");
  EXPECT_EQ(worker_.row(JobId{2}).key, "huge");
  EXPECT_EQ(worker_.change(JobId{2}, JobChange::remove).value().key, "huge");
  EXPECT_EQ(worker_.list({}).size(), 2u);
}

TEST_F(JobsOfRedis, a_server_that_has_lost_the_scripts_gets_them_again) {
  worker_.loner("k");
  redis({"SCRIPT", "FLUSH"});
  const Claimed claimed = worker_.claim("w");
  EXPECT_EQ(claimed.what, Got::running);
  redis({"SCRIPT", "FLUSH"});
  EXPECT_TRUE(worker_.renew(claimed.job.id, "w"));
  redis({"SCRIPT", "FLUSH"});
  EXPECT_TRUE(worker_.finish(claimed).released);
}

TEST_F(JobsOfRedis, a_server_that_has_lost_everything_reports_no_job_as_finished) {
  worker_.loner("k");
  const Claimed claimed = worker_.claim("w");
  redis({"FLUSHALL"});
  EXPECT_FALSE(worker_.renew(claimed.job.id, "w"));
  const Finished finished = worker_.finish(claimed);
  EXPECT_FALSE(finished.finished);
  EXPECT_FALSE(finished.released);
  EXPECT_EQ(worker_.loner("k").what, EnqueueOutcome::enqueued) << "nothing is stuck";
  const Claimed next = worker_.claim("w2");
  EXPECT_GT(next.job.token, claimed.job.token);
  EXPECT_FALSE(worker_.finish(claimed).finished) << "the number of a job is given again, its claim is not";
  EXPECT_TRUE(worker_.finish(next).finished);
}

TEST_F(JobsOfRedis, a_server_that_was_killed_is_unavailable_and_then_knows_its_jobs) {
  redis({"CONFIG", "SET", "appendfsync", "always"});
  worker_.loner("k");
  const Claimed claimed = worker_.claim("w");
  server_.kill();
  const auto nobody = worker_.try_claim("w2");
  ASSERT_FALSE(nobody);
  EXPECT_NE(nobody.error().code, Errc::refused);
  EXPECT_FALSE(worker_.engine().finish(done(claimed), soon()));
  server_.start();
  EXPECT_EQ(worker_.loner("k").what, EnqueueOutcome::duplicate);
  EXPECT_TRUE(worker_.finish(claimed).finished);
}

TEST_F(JobsOfRedis, full_memory_takes_no_new_job_and_still_finishes_those_that_run) {
  worker_.loner("k"), worker_.loner("l");
  const Claimed claimed = worker_.claim("w");
  redis({"CONFIG", "SET", "maxmemory", "1"});
  const auto refused = worker_.engine().enqueue(job_of("m"), soon());
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::unavailable) << refused.error().detail;
  const auto unclaimed = worker_.try_claim("w2");
  ASSERT_FALSE(unclaimed);
  EXPECT_EQ(unclaimed.error().code, Errc::unavailable) << unclaimed.error().detail;
  EXPECT_TRUE(worker_.renew(claimed.job.id, "w"));
  EXPECT_TRUE(worker_.finish(claimed).released);
  redis({"CONFIG", "SET", "maxmemory", "0"});
  EXPECT_EQ(worker_.list({}).size(), 2u);
  EXPECT_EQ(worker_.claim("w2").job.key, "l");
}

TEST_F(JobsOfRedis, a_right_that_is_missing_before_anything_is_written_refuses_and_behind_that_is_in_doubt) {
  redis({"ACL", "SETUSER", "app", "on", ">secret", "~*", "&*", "+@all"});
  Worker app("redis://app:secret@127.0.0.1:" + std::to_string(server_.port()));
  redis({"ACL", "SETUSER", "app", "-incr"});
  auto told = app.engine().enqueue(job_of("k"), soon());
  ASSERT_FALSE(told);
  EXPECT_EQ(told.error().code, Errc::refused) << told.error().detail;
  redis({"ACL", "SETUSER", "app", "+incr", "-hset"});
  told = app.engine().enqueue(job_of("k"), soon());
  ASSERT_FALSE(told);
  EXPECT_EQ(told.error().code, Errc::in_doubt) << told.error().detail;
  worker_.enqueue("k", {.in = 1ms});
  redis({"ACL", "SETUSER", "app", "+hset", "-set"});
  // That it has become due is written down, and is nothing that anybody asked for.
  ASSERT_TRUE(await([&] { return worker_.row(JobId{2}).due_at < wall_now(); }));
  const auto claimed = app.try_claim("w");
  ASSERT_FALSE(claimed);
  EXPECT_EQ(claimed.error().code, Errc::refused) << claimed.error().detail;
  EXPECT_EQ(worker_.claim("w2").what, Got::running);
}

TEST_F(JobsOfRedis, what_lay_in_a_socket_too_long_is_void) {
  worker_.enqueue("k", {.limit = 0});
  worker_.claim("w", 1h, {"another"});  // the server knows the script
  const std::uint64_t before = commands();
  server_.pause();
  const std::vector<std::string> queues{"default"};
  const auto claimed =
      worker_.engine().claim({.queues = queues, .owner = {"w"}, .ttl = 1h}, BootClock::now() + 2s);
  ASSERT_FALSE(claimed);
  EXPECT_EQ(claimed.error().code, Errc::in_doubt) << claimed.error().detail;
  server_.resume();
  ASSERT_TRUE(await([&] { return commands() > before; }));  // it has been read
  EXPECT_EQ(redis({"HGET", "holdfast:jobs:job:1", "state"}), "queued");
  EXPECT_EQ(worker_.claim("w2").what, Got::running);
}

}  // namespace
}  // namespace holdfast::test
