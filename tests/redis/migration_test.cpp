// SPDX-License-Identifier: Apache-2.0
// Keys of 0.1.0, as tests/fixtures has them: used as they are, and made complete by init beside processes
// that use them.
#include <gmock/gmock.h>

#include <algorithm>
#include <atomic>
#include <iomanip>
#include <sstream>
#include <thread>

#include "tests/redis/suite.h"
#include "tests/support/fixture.h"
#include "tests/support/worker.h"

namespace holdfast::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// As redis-cli reads a line.
std::vector<std::string> words_in_line(const std::string& line) {
  std::istringstream in(line);
  std::vector<std::string> words;
  for (std::string word; in >> std::quoted(word);) {
    for (std::size_t at; (at = word.find("\x01n")) != std::string::npos;) word.replace(at, 2, "\n");
    words.push_back(word);
  }
  return words;
}

class MigrationOfRedis : public RedisTest {
 protected:
  MigrationOfRedis() {
    const Micros now = wall_now().time_since_epoch();
    const auto text = [](auto length) { return std::to_string(length.count()); };
    std::istringstream lines(
        fixture(HOLDFAST_SOURCE "/tests/fixtures/0.1.0/redis.txt",
                {{"IN_AN_HOUR", text(now + 1h)},
                 {"IN_TWO_DAYS", text(std::chrono::floor<std::chrono::seconds>(now + 48h))},
                 {"\\n", "\x01n"}}));
    for (std::string line; std::getline(lines, line);) {
      const auto words = words_in_line(line);
      if (!words.empty() && words[0] != "#") {
        EXPECT_THAT(redis(words), ::testing::Not(HasSubstr("(error)"))) << line;
      }
    }
  }
  std::string url() const { return server_.url(); }
  std::unique_ptr<StoreAdmin> admin(const std::string& parameters = "") const {
    return try_store(url() + parameters).value()->admin();
  }
  std::vector<std::string> shown(const std::string& parameters = "") const {
    std::vector<std::string> keys;
    for (const LeaseRow& row : Caller(url() + parameters).list({.free = false}).leases)
      keys.push_back(row.key);
    return keys;
  }
  // All that 0.1.0 has written.
  std::string everything() {
    std::istringstream lines(redis({"KEYS", "*"}));
    std::vector<std::string> keys;
    for (std::string key; std::getline(lines, key);)
      if (key != "holdfast:held") keys.push_back(key);
    std::sort(keys.begin(), keys.end());
    std::string all;
    for (const std::string& key : keys) {
      const std::string type = redis({"TYPE", key});
      all += key + " " + redis({"EXPIRETIME", key}) + " ";
      all += type == "string" ? redis({"GET", key})
             : type == "hash" ? redis({"HGETALL", key})
             : type == "zset" ? redis({"ZRANGE", key, "0", "-1", "WITHSCORES"})
                              : redis({"XRANGE", key, "-", "+"});
      all += "\n";
    }
    return all;
  }
  // As 0.1.0 grants a key.
  void grant_as_before(const std::string& key, const std::string& owner) {
    const std::string now = std::to_string(wall_now().time_since_epoch().count());
    redis({"SET", key, owner, "PX", "3600000"});
    redis({"HSET", "holdfast:facts:{" + key + "}", "token", now, "holder", owner, "since", now, "until",
           now + "+3600000", "about", "-", "kept", "4000172800"});
    redis({"ZADD", "holdfast:kept", "4000172800", key});
    redis({"ZADD", "holdfast:index", "0", key});
  }
  void release_as_before(const std::string& key) {
    redis({"DEL", key});
    redis({"HSET", "holdfast:facts:{" + key + "}", "holder", "", "until", "1767225600000000+0"});
  }
};

TEST_F(MigrationOfRedis, keys_of_0_1_0_are_used_as_they_are) {
  Caller here(url());
  const Reply busy = here.acquire("held", "eve");
  EXPECT_EQ(busy.owner, "ann");
  EXPECT_EQ(busy.token, Token{1767225600845301});
  EXPECT_EQ(here.row("held").note, "by hand");
  EXPECT_TRUE(here.row("held").detached);
  EXPECT_EQ(here.renew("held", "ann", no_token, 2h).verdict, Verdict::granted);
  EXPECT_EQ(here.acquire("endless", "eve").owner, "bob");
  EXPECT_EQ(here.renew("endless", "bob", no_token, never).verdict, Verdict::granted);
  EXPECT_EQ(here.acquire("free", "eve").token, Token{4000000000000001}) << "the clock is far behind it";
  EXPECT_EQ(here.release("held", "ann").verdict, Verdict::released);
  EXPECT_EQ(here.acquire("held", "eve").verdict, Verdict::busy) << "carl is first in the queue";
  EXPECT_EQ(here.acquire("expired", "fay").verdict, Verdict::granted);
  const auto log = here.list({.what = Query::What::log}).log;
  ASSERT_EQ(log.size(), 2u);
  EXPECT_EQ(log[0].event + " " + log[0].owner, "taken-over eve");
  EXPECT_EQ(log[1].event + " " + log[1].owner, "broken dora");
}

TEST_F(MigrationOfRedis, init_completes_the_index_and_nothing_is_lost) {
  const std::string before = everything();
  EXPECT_THAT(shown(), IsEmpty()) << "or there is nothing to migrate";
  const auto plan = admin()->plan(soon()).value();
  EXPECT_THAT(plan, ElementsAre("ZADD holdfast:held 0 endless 0 expired 0 held 0 job 0 waited"));
  EXPECT_EQ(redis({"EXISTS", "holdfast:held"}), "0") << "a plan changes nothing";
  EXPECT_EQ(admin()->init(soon()).value(), plan);
  EXPECT_THAT(admin()->plan(soon()).value(), IsEmpty());
  EXPECT_THAT(admin()->init(soon()).value(), IsEmpty());
  EXPECT_EQ(everything(), before);
  EXPECT_THAT(shown(), ElementsAre("endless", "expired", "held", "job", "waited"));
  const auto places = Caller(url()).list({.what = Query::What::places}).places;
  ASSERT_EQ(places.size(), 2u);
  EXPECT_EQ(places[0].owner, "carl");
  EXPECT_EQ(places[1].owner, "gina");
}

TEST_F(MigrationOfRedis, a_plan_can_be_run_by_hand) {
  grant_as_before("two words", "ann");
  grant_as_before("a \"quoted\" \\ key", "ann");
  const auto plan = admin()->plan(soon()).value();
  for (const std::string& command : plan) redis(words_in_line(command));
  EXPECT_THAT(admin()->plan(soon()).value(), IsEmpty());
  EXPECT_EQ(shown().size(), 7u);
}

TEST_F(MigrationOfRedis, jobs_of_before_go_on) {
  (void)admin()->init(soon()).value();
  Worker worker(url());
  EXPECT_EQ(worker.loner("other").what, EnqueueOutcome::duplicate) << "a slot of before counts";
  const Claimed waited = worker.claim();
  EXPECT_EQ(waited.job.name, "Wait");
  EXPECT_EQ(waited.job.args, "[2]");
  EXPECT_TRUE(worker.finish(waited).finished);
  EXPECT_EQ(worker.claim().what, Got::nothing) << "a claim of before counts, and so does its lock";
  EXPECT_TRUE(worker.renew(JobId{1}, "worker"));
  const Finish how{.id = JobId{1},
                   .owner = {"worker"},
                   .to = JobState::done,
                   .lock = {"job"},
                   .token = Token{1767225600971403}};
  const Finished finished = worker.engine().finish(how, soon()).value();
  EXPECT_TRUE(finished.finished && finished.released);
  EXPECT_EQ(worker.claim().job.name, "Park");
  EXPECT_TRUE(worker.change(JobId{6}, JobChange::retry));
  EXPECT_EQ(worker.claim().job.name, "Dead");
  EXPECT_EQ(worker.row(JobId{4}).state, JobState::queued);
  EXPECT_EQ(worker.row(JobId{5}).state, JobState::done);
  EXPECT_EQ(worker.enqueue("new").id, JobId{7});
  EXPECT_FALSE(worker.take_tick("nightly", 7).taken);
  EXPECT_TRUE(worker.take_tick("nightly", 8).taken);
}

TEST_F(MigrationOfRedis, processes_go_on_through_it) {
  std::atomic<bool> over = false;
  std::atomic<int> rounds = 0;
  std::jthread busy([&] {
    Caller here(url());
    for (; !over; ++rounds) {
      ASSERT_EQ(here.acquire("mine", "eve").verdict, Verdict::granted);
      ASSERT_EQ(here.renew("mine", "eve", no_token, 2h).verdict, Verdict::granted);
      ASSERT_EQ(here.release("mine", "eve").verdict, Verdict::released);
    }
  });
  std::vector<std::jthread> many;
  for (int i = 0; i < 4; ++i) {
    many.emplace_back([&] {
      ASSERT_TRUE(await([&] { return rounds > 2; }));
      const auto made = admin()->init(soon());
      EXPECT_TRUE(made) << made.error().detail;
    });
  }
  many.clear();
  const int then = rounds;
  EXPECT_TRUE(await([&] { return rounds > then + 2; }));
  over = true;
  busy.join();
  EXPECT_THAT(admin()->plan(soon()).value(), IsEmpty());
  EXPECT_THAT(shown(), ElementsAre("endless", "expired", "held", "job", "waited"));
}

// What was done is seen in the keys themselves, so it is not too late for one that goes on.
TEST_F(MigrationOfRedis, what_a_process_of_before_grants_afterwards_is_found_by_the_next_init) {
  (void)admin()->init(soon()).value();
  grant_as_before("later", "ann");
  release_as_before("held");
  grant_as_before("free", "ann");
  release_as_before("job");
  EXPECT_THAT(shown(), ElementsAre("endless", "expired", "held", "waited")) << "carl waits for held";
  EXPECT_THAT(admin()->init(soon()).value(), ElementsAre("ZADD holdfast:held 0 free 0 later"));
  EXPECT_THAT(shown(), ElementsAre("endless", "expired", "free", "held", "later", "waited"));
}

// So that the server answers others in between.
TEST_F(MigrationOfRedis, many_keys_are_looked_at_page_by_page) {
  for (int i = 0; i < 450; ++i) grant_as_before("many " + std::to_string(1000 + i), "ann");
  redis({"CONFIG", "RESETSTAT"});
  EXPECT_EQ(admin()->init(soon()).value().size(), 3u);
  EXPECT_THAT(redis({"INFO", "commandstats"}), HasSubstr("cmdstat_zadd:calls=455,"));
  EXPECT_THAT(redis({"INFO", "commandstats"}), HasSubstr("cmdstat_zrangebylex:calls=3,"));
  EXPECT_EQ(shown().size(), 455u);
}

TEST_F(MigrationOfRedis, each_prefix_has_its_own_in_each_layout) {
  for (const std::string layout : {"own", "active_job_lock"}) {
    const std::string parameters = "?prefix=" + layout + ":&layout=" + layout;
    Caller ann(url() + parameters), bob(url() + parameters);
    for (const char* key : {"broken", "free", "held"}) ann.acquire(key, "ann");
    bob.acquire("held", "bob", 1h, 1h);
    ann.release("free", "ann");
    ann.evict("broken", ann.acquire("broken", "ann").token);
    redis({"DEL", "holdfast:held:" + layout + ":"});
    EXPECT_THAT(shown(parameters), IsEmpty());
    EXPECT_THAT(admin(parameters)->init(soon()).value(),
                ElementsAre("ZADD holdfast:held:" + layout + ": 0 held"));
    EXPECT_THAT(shown(parameters), ElementsAre("held"));
    EXPECT_EQ(bob.list({.what = Query::What::places}).places.size(), 1u);
  }
  EXPECT_EQ(redis({"EXISTS", "holdfast:held"}), "0");
}

}  // namespace
}  // namespace holdfast::test
