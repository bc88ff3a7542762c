// SPDX-License-Identifier: Apache-2.0
// shedlock.h - tests of JVMs with ShedLock beside Holdfast clients, on any database.
#pragma once
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "holdfast/spi/job_engine.h"
#include "holdfast/spi/store.h"
#include "tests/support/await.h"
#include "tests/support/findings.h"

namespace holdfast::test {

// What all databases are asked.  World: `Caller ours()` or one made of it, `Jvm jvm(host, ahead)`,
// `std::shared_ptr<Store> store()`, and what ShedLockTable has.
template <class World>
class ShedLockScenes {
 public:
  explicit ShedLockScenes(World& world) : w(world) {}

  void theirs_is_busy_until_they_unlock() {
    for (const auto ahead : clocks) {
      auto ours = w.ours();
      auto jvm = w.jvm("web1", ahead);
      ASSERT_TRUE(jvm.lock("nightly"));
      const Reply busy = ours.acquire("nightly", "ann");
      EXPECT_EQ(busy.verdict, Verdict::busy);
      EXPECT_EQ(busy.owner, "web1 (ShedLock)");
      EXPECT_EQ(busy.token, no_token);
      EXPECT_GT(busy.remaining, std::chrono::minutes(9));
      EXPECT_LE(busy.remaining, std::chrono::minutes(10));
      EXPECT_EQ(ours.renew("nightly", "ann").verdict, Verdict::lost);
      EXPECT_EQ(ours.release("nightly", "ann").verdict, Verdict::lost);
      ASSERT_TRUE(jvm.extend("nightly", std::chrono::minutes(20)));
      EXPECT_GT(ours.acquire("nightly", "ann").remaining, std::chrono::minutes(19));
      ASSERT_TRUE(jvm.unlock("nightly"));
      EXPECT_EQ(ours.acquire("nightly", "ann").verdict, Verdict::granted);
      EXPECT_EQ(ours.release("nightly", "ann").verdict, Verdict::released);
    }
  }

  void ours_is_locked_for_them_until_we_release_it() {
    for (const auto ahead : clocks) {
      auto ours = w.ours();
      auto jvm = w.jvm("web1", ahead);
      const Reply mine = ours.acquire("nightly", "ann", std::chrono::minutes(10));
      ASSERT_EQ(mine.verdict, Verdict::granted);
      EXPECT_FALSE(jvm.lock("nightly"));
      EXPECT_FALSE(jvm.lock("nightly"));
      EXPECT_FALSE(jvm.extend("nightly"));
      EXPECT_EQ(ours.renew("nightly", "ann", mine.token, std::chrono::minutes(20)).verdict, Verdict::granted);
      EXPECT_FALSE(jvm.lock("nightly"));
      EXPECT_EQ(ours.release("nightly", "ann", mine.token).verdict, Verdict::released);
      EXPECT_EQ(w.free_rows(), 1) << "the row stays";
      EXPECT_TRUE(jvm.lock("nightly"));
      EXPECT_TRUE(jvm.unlock("nightly"));
    }
  }

  void theirs_that_ran_out_is_taken_over_and_tokens_rise() {
    auto ours = w.ours();
    auto jvm = w.jvm("web1");
    const Reply before = ours.acquire("nightly", "ann");
    ours.release("nightly", "ann");
    ASSERT_TRUE(jvm.lock("nightly"));
    EXPECT_EQ(ours.acquire("nightly", "bob").verdict, Verdict::busy);
    w.end_now();
    const Reply after = ours.acquire("nightly", "bob");
    EXPECT_EQ(after.verdict, Verdict::granted) << "at its lock_until it is free, as for ShedLock";
    EXPECT_GT(after.token, before.token);
    EXPECT_FALSE(jvm.extend("nightly"));
    if (World::unlock_looks) {
      EXPECT_FALSE(jvm.unlock("nightly")) << "it looks whose it is";
    }
    EXPECT_EQ(ours.renew("nightly", "bob", after.token).verdict, Verdict::granted);
  }

  void ours_that_ran_out_is_taken_over_by_them_and_lost() {
    auto ours = w.ours();
    auto jvm = w.jvm("web1");
    const Reply mine = ours.acquire("nightly", "ann", Millis(20));
    ASSERT_TRUE(await([&] { return jvm.lock("nightly"); }));
    EXPECT_EQ(ours.renew("nightly", "ann", mine.token).verdict, Verdict::lost);
    EXPECT_EQ(ours.acquire("nightly", "ann").verdict, Verdict::busy);
    EXPECT_EQ(ours.release("nightly", "ann", mine.token).verdict, Verdict::lost);
    EXPECT_TRUE(jvm.extend("nightly")) << "our release left it alone";
    EXPECT_TRUE(jvm.unlock("nightly"));
    EXPECT_GT(ours.acquire("nightly", "ann").token, mine.token);
  }

  void a_lock_of_at_least_some_time_stays_after_their_unlock() {
    for (const auto ahead : clocks) {
      auto ours = w.ours();
      auto jvm = w.jvm("web1", ahead);
      ASSERT_TRUE(jvm.lock("nightly"));
      ASSERT_TRUE(jvm.unlock("nightly", std::chrono::minutes(5)));
      const Reply busy = ours.acquire("nightly", "ann");
      EXPECT_EQ(busy.verdict, Verdict::busy);
      EXPECT_LE(busy.remaining, std::chrono::minutes(5));
      w.end_at_start();
    }
  }

  void a_clock_that_is_ahead_takes_over_early_and_we_learn_it() {
    auto ours = w.ours();
    auto ahead = w.jvm("web1", std::chrono::seconds(90)), right = w.jvm("web2", Millis(0));
    const Reply mine = ours.acquire("nightly", "ann", std::chrono::minutes(1));
    EXPECT_FALSE(right.lock("nightly"));
    EXPECT_TRUE(ahead.lock("nightly"));
    EXPECT_EQ(ours.renew("nightly", "ann", mine.token).verdict, Verdict::lost);
    EXPECT_EQ(ours.acquire("nightly", "ann").owner, "web1 (ShedLock)");
  }

  void an_unlock_that_does_not_look_ends_ours_and_we_learn_it() {
    auto ours = w.ours();
    auto jvm = w.jvm("web1", Millis(0));
    ASSERT_TRUE(jvm.lock("nightly"));
    w.end_at_start();  // its work outlasts lockAtMostFor
    const Reply mine = ours.acquire("nightly", "ann");
    ASSERT_EQ(mine.verdict, Verdict::granted);
    ASSERT_TRUE(jvm.unlock("nightly"));
    EXPECT_EQ(ours.renew("nightly", "ann", mine.token).verdict, Verdict::lost);
    EXPECT_GT(ours.acquire("nightly", "bob").token, mine.token);
  }

  void a_name_that_does_not_fit_is_refused_and_harms_no_other() {
    auto ours = w.ours();
    const std::string longest(64, 'k'), longer(65, 'k');
    const Request batch[] = {
        {.verb = Verb::acquire, .key = {longer}, .owner = {"ann"}, .ttl = Millis(600'000)},
        {.verb = Verb::acquire, .key = {longest}, .owner = {"ann"}, .ttl = Millis(600'000)}};
    Reply replies[2];
    ASSERT_TRUE(ours.connection().apply(batch, replies, soon()));
    ASSERT_TRUE(replies[0].error);
    EXPECT_EQ(replies[0].error->code, Errc::refused);
    EXPECT_THAT(replies[0].error->detail, ::testing::HasSubstr("64 letters"));
    EXPECT_FALSE(replies[1].error);
    EXPECT_EQ(replies[1].verdict, Verdict::granted);
    EXPECT_EQ(w.value("SELECT COUNT(*) FROM shedlock"), "1");
  }

  void an_owner_that_is_called_like_their_host_is_another() {
    auto ours = w.ours();
    auto jvm = w.jvm("web1");
    const Reply mine = ours.acquire("nightly", "web1");
    EXPECT_FALSE(jvm.extend("nightly"));
    if (World::unlock_looks) {
      EXPECT_FALSE(jvm.unlock("nightly"));
    }
    EXPECT_FALSE(jvm.lock("nightly"));
    EXPECT_EQ(ours.release("nightly", "web1", mine.token).verdict, Verdict::released);
    ASSERT_TRUE(jvm.lock("nightly"));
    for (const std::string name : {"web1", "web1 (ShedLock)"}) {
      EXPECT_EQ(ours.acquire("nightly", name).verdict, Verdict::busy) << name;
      EXPECT_EQ(ours.renew("nightly", name).verdict, Verdict::lost) << name;
      EXPECT_EQ(ours.release("nightly", name).verdict, Verdict::lost) << name;
    }
    for (const Token token : {no_token, mine.token, Token{to_number(mine.token) + 1}}) {
      EXPECT_EQ(ours.evict("nightly", token).verdict, Verdict::lost);
    }
    EXPECT_TRUE(jvm.extend("nightly")) << "it is theirs as before";
  }

  void an_owner_longer_than_their_column_is_shown_as_far_as_it_fits() {
    auto ours = w.ours();
    const std::string longest = std::string(510, 'h') + "\xc3\xa4";
    const Reply mine = ours.acquire("nightly", longest, never);
    ASSERT_EQ(mine.verdict, Verdict::granted);
    EXPECT_EQ(ours.acquire("nightly", "bob").owner, longest);
    EXPECT_FALSE(w.jvm("web1").lock("nightly"));
    EXPECT_EQ(ours.release("nightly", longest, mine.token).verdict, Verdict::released);
    EXPECT_TRUE(w.jvm("web1").lock("nightly"));
  }

  void theirs_are_listed_without_a_token_and_free_rows_are_not_held() {
    auto ours = w.ours();
    auto jvm = w.jvm("web1");
    ASSERT_TRUE(jvm.lock("b"));
    ASSERT_TRUE(jvm.lock("d"));
    ASSERT_TRUE(jvm.unlock("d"));
    const Reply a = ours.ask(
        {.verb = Verb::acquire, .key = {"a"}, .owner = {"ann"}, .ttl = Millis(600'000), .note = "why"});
    ours.acquire("c", "cat");
    ours.release("c", "cat");
    const Page page = ours.list({.free = false});
    ASSERT_EQ(page.leases.size(), 2u);
    EXPECT_EQ(page.leases[0].token, a.token);
    EXPECT_EQ(page.leases[0].note, "why");
    EXPECT_EQ(page.leases[1].key, "b");
    EXPECT_EQ(page.leases[1].owner, "web1 (ShedLock)") << "as busy says it";
    EXPECT_EQ(page.leases[1].token, no_token);
    EXPECT_GT(page.leases[1].remaining, std::chrono::minutes(9));
    EXPECT_EQ(ours.acquire("b", "bob").verdict, Verdict::busy);
    EXPECT_EQ(ours.row("b").owner, "web1 (ShedLock)");
    ASSERT_TRUE(jvm.unlock("b"));
    EXPECT_EQ(ours.list({.free = false}).leases.size(), 1u);
    EXPECT_EQ(ours.list({.prefix = "b"}).leases.size(),
              ours.list({.prefix = "b", .exact = true}).leases.size());
  }

  // No key of ours is empty.
  void theirs_with_an_empty_name_is_listed() {
    auto ours = w.ours();
    auto jvm = w.jvm("web1");
    ASSERT_TRUE(jvm.lock(""));
    EXPECT_EQ(ours.list({.free = false}).leases.size(), 1u);
    ASSERT_TRUE(jvm.lock("b"));
    for (const bool free : {false, true}) {
      const Page page = ours.list({.free = free, .limit = 2});
      ASSERT_EQ(page.leases.size(), 2u) << free;
      EXPECT_EQ(page.leases[0].key, "");
      EXPECT_EQ(page.leases[0].owner, "web1 (ShedLock)");
      EXPECT_EQ(page.leases[1].key, "b");
      EXPECT_TRUE(ours.list({.after = "b", .free = free}).leases.empty());
      EXPECT_EQ(ours.list({.prefix = "b", .free = free}).leases.size(), 1u);
    }
  }

  void a_row_that_is_deleted_or_taken_in_between_is_lost() {
    auto ours = w.ours();
    const Reply mine = ours.acquire("nightly", "ann");
    w.value("DELETE FROM shedlock");
    EXPECT_EQ(ours.row("nightly").remaining, Millis(0));
    EXPECT_EQ(ours.renew("nightly", "ann", mine.token).verdict, Verdict::lost);
    const Reply again = ours.acquire("nightly", "ann");
    EXPECT_GT(again.token, mine.token);
    w.value("UPDATE shedlock SET locked_by = 'web1', lock_until = locked_at");
    EXPECT_EQ(ours.renew("nightly", "ann", again.token).verdict, Verdict::lost)
        << "another had it in between";
  }

  void of_both_at_the_same_moment_one_wins() {
    std::atomic<int> owners = 0, rounds = 0;
    const auto take = [&](bool got, const auto& give) {
      if (!got) return;
      EXPECT_EQ(++owners, 1);
      ++rounds;
      --owners;
      give();
    };
    std::vector<std::jthread> threads;
    for (int t = 0; t < 2; ++t) {
      threads.emplace_back([&, t] {
        auto jvm = w.jvm("node" + std::to_string(t));
        for (int i = 0; i < 40; ++i) take(jvm.lock("k"), [&] { EXPECT_TRUE(jvm.unlock("k")); });
      });
      threads.emplace_back([&, t] {
        auto ours = w.ours();
        const std::string me = std::to_string(t);
        for (int i = 0; i < 40; ++i) {
          const Reply reply = ours.acquire("k", me, std::chrono::hours(1));
          take(reply.verdict == Verdict::granted,
               [&] { EXPECT_EQ(ours.release("k", me, reply.token).verdict, Verdict::released); });
        }
      });
    }
    threads.clear();
    EXPECT_GT(rounds, 10);
  }

  void a_purge_leaves_their_rows_and_tokens_rise_across_it() {
    auto ours = w.ours();
    auto jvm = w.jvm("web1");
    const Reply mine = ours.acquire("nightly", "ann");
    ours.release("nightly", "ann");
    ASSERT_TRUE(jvm.lock("nightly"));
    EXPECT_EQ(ours.acquire("nightly", "bob").verdict, Verdict::busy);
    ASSERT_TRUE(jvm.unlock("nightly"));
    w.end_at_start();
    const auto admin = w.store()->admin();
    const auto purged = [&] { return admin->purge({.free_for = Millis(0)}, soon()).value().keys == 1; };
    EXPECT_EQ(ours.acquire("nightly", "cat", Millis(2)).verdict, Verdict::granted);
    EXPECT_TRUE(await(purged));
    EXPECT_EQ(w.value("SELECT COUNT(*) FROM shedlock"), "1") << "a JVM that has seen the row only updates it";
    EXPECT_TRUE(await([&] { return jvm.lock("nightly"); }));
    ASSERT_TRUE(jvm.unlock("nightly"));
    EXPECT_GT(ours.acquire("nightly", "ann").token, mine.token);
  }

  void it_says_of_itself_that_it_promises_less_and_keeps_no_jobs() {
    auto ours = w.ours();
    const Traits traits = ours.examine();
    EXPECT_EQ(traits.grade, Grade::C);
    EXPECT_THAT(told(traits), ::testing::Contains(::testing::HasSubstr("layout=shedlock")));
    const auto jobs = w.store()->jobs(soon());
    ASSERT_FALSE(jobs);
    EXPECT_EQ(jobs.error().code, Errc::refused);
    EXPECT_THAT(jobs.error().detail, ::testing::HasSubstr("without layout=shedlock"));
  }

 private:
  // The database's, and a JVM's own.
  static constexpr std::optional<Millis> clocks[] = {std::nullopt, Millis(0)};
  World& w;
};

}  // namespace holdfast::test

// Each scene as a test of that suite, whose objects are worlds.
#define HOLDFAST_SHEDLOCK_SCENE(TEST, Suite, scene) \
  TEST(Suite, scene) { ShedLockScenes(*this).scene(); }
#define HOLDFAST_SHEDLOCK_SCENES(TEST, Suite)                                                        \
  HOLDFAST_SHEDLOCK_SCENE(TEST, Suite, theirs_is_busy_until_they_unlock)                             \
  HOLDFAST_SHEDLOCK_SCENE(TEST, Suite, ours_is_locked_for_them_until_we_release_it)                  \
  HOLDFAST_SHEDLOCK_SCENE(TEST, Suite, theirs_that_ran_out_is_taken_over_and_tokens_rise)            \
  HOLDFAST_SHEDLOCK_SCENE(TEST, Suite, ours_that_ran_out_is_taken_over_by_them_and_lost)             \
  HOLDFAST_SHEDLOCK_SCENE(TEST, Suite, a_lock_of_at_least_some_time_stays_after_their_unlock)        \
  HOLDFAST_SHEDLOCK_SCENE(TEST, Suite, a_clock_that_is_ahead_takes_over_early_and_we_learn_it)       \
  HOLDFAST_SHEDLOCK_SCENE(TEST, Suite, an_unlock_that_does_not_look_ends_ours_and_we_learn_it)       \
  HOLDFAST_SHEDLOCK_SCENE(TEST, Suite, an_owner_that_is_called_like_their_host_is_another)           \
  HOLDFAST_SHEDLOCK_SCENE(TEST, Suite, an_owner_longer_than_their_column_is_shown_as_far_as_it_fits) \
  HOLDFAST_SHEDLOCK_SCENE(TEST, Suite, theirs_are_listed_without_a_token_and_free_rows_are_not_held) \
  HOLDFAST_SHEDLOCK_SCENE(TEST, Suite, theirs_with_an_empty_name_is_listed)                          \
  HOLDFAST_SHEDLOCK_SCENE(TEST, Suite, of_both_at_the_same_moment_one_wins)                          \
  HOLDFAST_SHEDLOCK_SCENE(TEST, Suite, it_says_of_itself_that_it_promises_less_and_keeps_no_jobs)
// And of what only a table has.
#define HOLDFAST_SHEDLOCK_SCENES_ON_SQL(TEST, Suite)                                           \
  HOLDFAST_SHEDLOCK_SCENES(TEST, Suite)                                                        \
  HOLDFAST_SHEDLOCK_SCENE(TEST, Suite, a_name_that_does_not_fit_is_refused_and_harms_no_other) \
  HOLDFAST_SHEDLOCK_SCENE(TEST, Suite, a_row_that_is_deleted_or_taken_in_between_is_lost)      \
  HOLDFAST_SHEDLOCK_SCENE(TEST, Suite, a_purge_leaves_their_rows_and_tokens_rise_across_it)
