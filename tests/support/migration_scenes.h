// SPDX-License-Identifier: Apache-2.0
// migration_scenes.h - tests of tables of 0.1.0, as tests/fixtures has them, on any store that keeps tables.
#pragma once
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/caller.h"
#include "tests/support/worker.h"

namespace holdfast::test {

// World: `std::shared_ptr<Store> store()`, and `Caller ours()` or one made of it.  On a server also
// `std::string rows()`, all of them without what the migration adds, `std::string columns_of(table)` and
// `std::string value(sql)`.
template <class World>
class MigrationScenes {
 public:
  explicit MigrationScenes(World& world) : w(world) {}

  void leases_and_jobs_of_before_go_on_behind_it() {
    init();
    auto ours = w.ours();
    const Reply busy = ours.acquire("held", "eve");
    EXPECT_EQ(busy.owner, "ann");
    EXPECT_EQ(busy.token, Token{1800000000000000});
    EXPECT_EQ(ours.renew("held", "ann", busy.token, 2h).verdict, Verdict::granted);
    EXPECT_EQ(ours.row("held").ttl, Millis(2h));
    EXPECT_EQ(ours.acquire("endless", "eve").owner, "bob");
    EXPECT_EQ(ours.acquire("free", "eve").token, Token{4000000000000001}) << "the clock is far behind it";
    EXPECT_EQ(ours.release("held", "ann").verdict, Verdict::released);
    EXPECT_EQ(ours.acquire("held", "eve").verdict, Verdict::busy) << "carl is first in the queue";
    Worker worker(w.store());
    const Claimed claimed = worker.claim("w");
    EXPECT_EQ(claimed.job.name, "Wait");
    EXPECT_TRUE(worker.finish(claimed).finished);
    EXPECT_EQ(worker.row(JobId{1}).state, JobState::running);
    EXPECT_EQ(worker.claim("w").what, Got::nothing) << "a claim of before counts";
  }

  void connections_of_before_go_on_through_it() {
    auto old = w.ours();
    Worker old_worker(w.store());
    std::atomic<bool> over = false;
    std::atomic<int> rounds = 0;
    std::jthread busy([&] {
      for (; !over; ++rounds) {
        ASSERT_EQ(old.acquire("mine", "old").verdict, Verdict::granted);
        ASSERT_EQ(old.renew("mine", "old").verdict, Verdict::granted);
        ASSERT_EQ(old.release("mine", "old").verdict, Verdict::released);
        old_worker.enqueue("mine too");
        const Claimed claimed = old_worker.claim("old worker");
        ASSERT_EQ(claimed.what, Got::running);
        ASSERT_TRUE(old_worker.finish(claimed).finished);
      }
    });
    EXPECT_TRUE(await([&] { return rounds > 2; }));
    init();
    const int then = rounds;
    EXPECT_TRUE(await([&] { return rounds > then + 2; }));
    over = true;
  }

  void what_one_of_before_has_changed_since_is_not_believed() {
    auto old = w.ours();
    init();
    auto ours = w.ours();
    ours.acquire("k", "eve", 1h);
    EXPECT_EQ(ours.row("k").ttl, Millis(1h));
    EXPECT_EQ(old.renew("k", "eve", no_token, 3h).verdict, Verdict::granted);
    EXPECT_EQ(ours.row("k").ttl, std::nullopt) << "renewed by one that records nothing";
    ours.renew("k", "eve", no_token, 4h);
    EXPECT_EQ(ours.row("k").ttl, Millis(4h));
    ours.release("k", "eve");
    EXPECT_EQ(ours.row("k").ttl, std::nullopt);
    EXPECT_EQ(old.acquire("k", "old", 2h).verdict, Verdict::granted);
    EXPECT_EQ(ours.row("k").ttl, std::nullopt) << "granted by one that records nothing";
  }

  void many_may_migrate_at_once() {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 6; ++i) {
      threads.emplace_back([&] {
        const auto made = w.store()->admin()->init(soon());
        EXPECT_TRUE(made) << made.error().detail;
      });
    }
    threads.clear();
    EXPECT_THAT(w.store()->admin()->plan(soon()).value(), ::testing::IsEmpty());
  }

  // -- on a server

  void tables_of_0_1_0_are_migrated_and_nothing_is_lost() {
    const std::string before = w.rows();
    for (const char* const name : {"held", "carl", "nightly"})
      ASSERT_THAT(before, ::testing::HasSubstr(name));
    const auto admin = w.store()->admin();
    const auto plan = admin->plan(soon()).value();
    EXPECT_THAT(plan, two_changes);
    EXPECT_THAT(w.columns_of("locks"), unchanged) << "a plan changes nothing";
    EXPECT_EQ(admin->init(soon()).value(), plan);
    EXPECT_THAT(admin->plan(soon()).value(), ::testing::IsEmpty());
    EXPECT_EQ(w.rows(), before);
    EXPECT_EQ(w.value("SELECT CONCAT(version, ' ', needs) FROM holdfast_state"), "3 2");
  }

  // `url` is that of a user who has the grants of a client.
  void a_user_who_may_not_alter_them_cannot_migrate_and_goes_on(const std::string& url) {
    const auto store = try_store(url).value();
    EXPECT_THAT(store->admin()->plan(soon()).value(), two_changes);
    const auto made = store->admin()->init(soon());
    ASSERT_FALSE(made);
    EXPECT_EQ(made.error().code, Errc::refused);
    EXPECT_THAT(
        made.error().detail,
        ::testing::AllOf(::testing::ContainsRegex("this user may not create or (change|complete) the tables: "
                                                  ".*; it needs GRANT CREATE"),
                         ::testing::ContainsRegex("let the owner run what this prints: .*init --dry-run")));
    EXPECT_THAT(w.columns_of("locks"), unchanged);
    Caller ours(store);
    EXPECT_EQ(ours.acquire("mine", "eve").verdict, Verdict::granted);
    EXPECT_EQ(ours.release("mine", "eve").verdict, Verdict::released);
    EXPECT_EQ(Worker(store).claim().job.name, "Wait");
  }

  void tables_that_need_a_newer_holdfast_are_refused() {
    init();
    w.value("ALTER TABLE holdfast_state ALTER version SET DEFAULT 99");
    EXPECT_EQ(w.ours().acquire("k", "eve").verdict, Verdict::granted) << "which this version can still use";
    EXPECT_THAT(w.store()->admin()->plan(soon()).value(), ::testing::IsEmpty());
    w.value("ALTER TABLE holdfast_state ALTER needs SET DEFAULT 98");
    const auto store = w.store();
    const auto is_refused = [](const auto& result) {
      ASSERT_FALSE(result);
      EXPECT_EQ(result.error().code, Errc::refused);
      EXPECT_THAT(
          result.error().detail,
          ::testing::AllOf(::testing::HasSubstr("locks\" was written by a newer Holdfast (version 98 of the "
                                                "tables; this Holdfast knows 3)"),
                           ::testing::HasSubstr("nothing was changed; install the newer one")));
    };
    is_refused(store->connect(soon()));
    is_refused(store->jobs(soon()));
    is_refused(store->admin()->plan(soon()));
    is_refused(store->admin()->init(soon()));
    is_refused(store->admin()->purge({}, soon()));
  }

 private:
  void init() { (void)w.store()->admin()->init(soon()).value(); }

  World& w;
  const ::testing::Matcher<std::vector<std::string>> two_changes =
      ::testing::AllOf(::testing::SizeIs(2), ::testing::Each(::testing::HasSubstr("ALTER TABLE")));
  const ::testing::Matcher<std::string> unchanged = ::testing::Not(::testing::HasSubstr("ttl_ms"));
};

}  // namespace holdfast::test

// Each scene as a test of that suite, whose objects are worlds.
#define HOLDFAST_MIGRATION_SCENE(TEST, Suite, scene) \
  TEST(Suite, scene) { MigrationScenes(*this).scene(); }
#define HOLDFAST_MIGRATION_SCENES(TEST, Suite)                                                \
  HOLDFAST_MIGRATION_SCENE(TEST, Suite, leases_and_jobs_of_before_go_on_behind_it)            \
  HOLDFAST_MIGRATION_SCENE(TEST, Suite, connections_of_before_go_on_through_it)               \
  HOLDFAST_MIGRATION_SCENE(TEST, Suite, what_one_of_before_has_changed_since_is_not_believed) \
  HOLDFAST_MIGRATION_SCENE(TEST, Suite, many_may_migrate_at_once)
// And on a server.
#define HOLDFAST_MIGRATION_SCENES_ON_SERVER(TEST, Suite)                                  \
  HOLDFAST_MIGRATION_SCENES(TEST, Suite)                                                  \
  HOLDFAST_MIGRATION_SCENE(TEST, Suite, tables_of_0_1_0_are_migrated_and_nothing_is_lost) \
  HOLDFAST_MIGRATION_SCENE(TEST, Suite, tables_that_need_a_newer_holdfast_are_refused)
