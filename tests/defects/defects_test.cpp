// SPDX-License-Identifier: Apache-2.0
// The defects of the ancestors (reference/ancestors.md 8), each as: there X happens, here Y.  Those about
// keeping a lease are in keeping_test.cpp, 9 in clock_test.cpp, 13 in language_test.cpp; those about jobs in
// tests/jobs/ancestor_test.cpp.  docs/parity.md names the test of each.
#include <barrier>
#include <set>

#include "tests/defects/suite.h"

namespace holdfast::test {
namespace {

class Defects : public AsTheAncestors {};

// 3. mongo-lock: a client that extended a lock that had vanished overwrote the next holder's name, and got
// success.
TEST_P(Defects, there_extending_takes_the_lock_of_another_here_it_is_lost_and_stays_the_others) {
  Client a = new_client(), b = new_client();
  Lease taken = a.acquire("k", {.ttl = 1h, .owner = "ann"});
  Lease vanished = a.acquire("l", {.ttl = 1h, .owner = "ann"});
  observer_.release("k", {"ann"});
  observer_.release("l", {"ann"});
  const Lease theirs = b.acquire("k", {.ttl = 1h, .owner = "bob"});
  const Status extended = taken.try_extend_by(30s);
  ASSERT_FALSE(extended);
  EXPECT_EQ(extended.error().loss, Loss::stolen);
  EXPECT_FALSE(taken.held());
  EXPECT_EQ(a.try_extend_by("k", {"ann"}, 30s).error().code, Errc::lost);
  EXPECT_EQ(a.try_renew("k", {"ann"}, 30s).error().code, Errc::lost);
  EXPECT_EQ(row("k").owner, "bob");
  EXPECT_EQ(row("k").token, theirs.token());
  EXPECT_EQ(vanished.try_extend_by(30s).error().loss, Loss::gone);
  EXPECT_TRUE(is_free("l"));
}

// 4. active_job_lock: the end of a job deleted the key, even if somebody else held it by then.
TEST_P(Defects, there_a_release_deletes_whatever_is_there_here_only_its_own_grant) {
  Client a = new_client(), b = new_client();
  Lease late = a.acquire("k", {.ttl = 1h, .owner = "ann"});
  observer_.release("k", {"ann"});
  Lease theirs = b.acquire("k", {.ttl = 1h, .owner = "bob"});
  EXPECT_EQ(late.release(), Released::stolen);
  EXPECT_EQ(a.release("k", {"ann"}), Released::never_held);
  EXPECT_EQ(row("k").token, theirs.token());
  EXPECT_GT(row("k").remaining, 0ms);
  EXPECT_TRUE(theirs.try_renew());
  // Nor an old grant that of its own name.
  Lease old = a.acquire("l", {.ttl = 1h, .owner = "ann"});
  observer_.release("l", {"ann"});
  Lease anew = b.acquire("l", {.ttl = 1h, .owner = "ann"});
  EXPECT_EQ(old.release(), Released::stolen);
  EXPECT_TRUE(anew.try_renew());
}

// 4. Darwin: a lock that had expired was released by anybody, with any key.
TEST_P(Defects, there_anybody_releases_what_has_expired_here_it_is_the_last_holders_still) {
  Client a = new_client(), b = new_client();
  Lease expired = short_lease(a, "k", {.ttl = 200ms, .owner = "ann", .keep = false});
  ASSERT_TRUE(await([&] { return is_free("k"); }));
  EXPECT_EQ(b.release("k", {"bob"}), Released::never_held);
  EXPECT_EQ(row("k").owner, "ann");
  EXPECT_EQ(release_of_lost(expired), Released::expired);
}

// 5. mongo-lock: two inserts of a fresh key both went through, for 2 of 1500 keys.
TEST_P(Defects, there_two_win_a_fresh_key_here_one) {
  constexpr std::size_t keys = 40, clients = 4;
  std::vector<std::atomic<int>> winners(keys);
  std::barrier start(clients);
  std::vector<std::jthread> threads;
  for (std::size_t i = 0; i < clients; ++i) {
    threads.emplace_back([&] {
      Client client = new_client();
      std::vector<Lease> won;
      for (std::size_t key = 0; key < keys; ++key) {
        start.arrive_and_wait();
        auto lease = client.try_acquire("key " + std::to_string(key), {.ttl = 1h});
        if (!lease) continue;
        ++winners[key];
        won.push_back(*std::move(lease));
      }
      start.arrive_and_wait();
    });
  }
  threads.clear();
  for (const auto& count : winners) EXPECT_EQ(count, 1);
}

// 6. mongo-lock, redis_exp_lock: an exception in the block left the lock behind.  For run() see
// Run.an_exception_releases_and_passes_on.
TEST_P(Defects, there_an_exception_leaks_the_lock_here_no_scope_does) {
  Client client = new_client();
  const auto fail = [](auto&&...) { throw std::logic_error("mine"); };
  EXPECT_THROW(fail(client.acquire("k", {.ttl = 1h})), std::logic_error);
  ASSERT_TRUE(is_free("k"));
  Lock lock(client, "k", {.ttl = 1h});
  EXPECT_THROW(fail(std::scoped_lock(lock)), std::logic_error);
  ASSERT_TRUE(is_free("k"));
  EXPECT_THROW(fail(std::unique_lock(lock)), std::logic_error);
  ASSERT_TRUE(is_free("k"));
  EXPECT_TRUE(lock.try_lock()) << "and the object is as new";
}

// 7. locker: an object was still `locked` after its release, and kept the number of its first grant for ever.
// mongo-lock: the second release of an object deleted nothing.
TEST_P(Defects, there_an_object_and_its_store_disagree_here_they_say_the_same_after_every_step) {
  Client client = new_client();
  Lock lock(client, "k", {.ttl = 1h});
  Lease lease;
  Token last = no_token;
  for (int round = 0; round < 3; ++round) {
    lock.lock();
    EXPECT_TRUE(lock.lease().held());
    EXPECT_EQ(row("k").token, lock.lease().token());
    EXPECT_GT(lock.lease().token(), last);
    lock.unlock();
    ASSERT_TRUE(is_free("k"));
    lease = client.acquire("k", {.ttl = 1h});
    EXPECT_EQ(row("k").token, lease.token());
    last = lease.token();
    EXPECT_EQ(lease.release(), Released::released);
    EXPECT_FALSE(lease.held());
    ASSERT_TRUE(is_free("k"));
  }
}

// 7. mongo-lock: after an extension the object believed in its old end, refused the next one, and its release
// left the document.
TEST_P(Defects, there_an_extended_lock_believes_in_its_old_end_here_in_the_new_one) {
  Client client = new_client();
  Lease lease;
  Instant old_end{};
  ASSERT_TRUE(await([&] {
    lease = short_lease(client, "k", {.ttl = 300ms, .keep = false});
    old_end = lease.deadline();
    return lease.try_extend_by(1h).has_value();
  }));
  ASSERT_TRUE(await([&] { return BootClock::now() > old_end; }));
  EXPECT_TRUE(lease.held());
  EXPECT_TRUE(lease.try_extend_by(1h));
  EXPECT_EQ(lease.release(), Released::released);
  EXPECT_TRUE(is_free("k"));
}

// 7. redis_exp_lock: an object stayed locked when its key had expired, and could not be locked again.
TEST_P(Defects, there_an_object_stays_locked_after_its_end_here_it_says_so_and_can_be_locked_again) {
  Client client = new_client();
  Lock lock(client, "k", {.ttl = 1s, .keep = false});
  const auto locks = [&](Millis wait) {  // asked again where no answer came in time for a ttl so short
    std::optional<bool> answer;
    EXPECT_TRUE(await([&] {
      try {
        answer = lock.try_lock_for(wait);
      } catch (const Failure&) {
      }
      return answer.has_value();
    }));
    return answer.value();
  };
  ASSERT_TRUE(locks(10s));
  ASSERT_TRUE(await([&] { return !lock.lease().held(); }));
  {
    const Lease theirs = observer_.acquire("k", {.ttl = 1h, .wait = 20s});
    EXPECT_FALSE(locks(0s)) << "it is another's";
    EXPECT_FALSE(locks(10ms));
  }
  EXPECT_TRUE(locks(10s));
}

// 8. redis_exp_lock: the default was 60 s in the document, and no end in the code.
TEST_P(Defects, there_a_lock_without_options_never_ends_here_it_does) {
  Client client = new_client();
  const Lease lease = client.acquire("lease");
  Lock lock(client, "lock");
  lock.lock();
  for (const char* key : {"lease", "lock"}) {
    EXPECT_GT(row(key).remaining, 0ms);
    EXPECT_LE(row(key).remaining, 30s);
  }
  EXPECT_TRUE(client.run("run", {}, [&] { EXPECT_LE(row("run").remaining, 30s); }));
}

// 11. mongo-lock: configured twice, all threads were one owner; Darwin: the owner was a millisecond.  And the
// trap of old: the owner was the host.  For a forked child see Fork.a_child_may_open_a_client_of_its_own.
TEST_P(Defects, there_owners_are_shared_by_accident_here_every_acquisition_has_its_own) {
  Client one = new_client();
  Client other = new_client();
  std::mutex mutex;
  std::vector<Lease> leases;
  std::vector<std::jthread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&, i] {
      Client client = i % 2 == 0 ? one : other;
      for (int n = 0; n < 10; ++n) {
        Lease lease = client.acquire(std::to_string(i) + "-" + std::to_string(n), {.ttl = 1h});
        const std::lock_guard lock(mutex);
        leases.push_back(std::move(lease));
      }
    });
  }
  threads.clear();
  std::set<std::string_view> owners;
  for (const Lease& lease : leases) owners.insert(lease.owner());
  EXPECT_EQ(owners.size(), leases.size());
  EXPECT_EQ(one.try_acquire("0-0").error().code, Errc::busy) << "its own";
  EXPECT_EQ(other.try_acquire("0-0").error().code, Errc::busy);
}

// 10. mongo-lock, Darwin and redis_exp_lock slept once more after the last attempt, and then returned false.
TEST_P(Defects, there_a_sleep_follows_the_last_try_here_the_answer_does) {
  const Lease other = observer_.acquire("k", {.ttl = 1h});
  Counts counts;
  Client client = counted_client(counts);
  std::vector<int> sleeps;
  const AcquireOptions options{.attempts = 3, .interval = [&](int attempt) {
                                 sleeps.push_back(attempt);
                                 return attempt < 3 ? Millis(1ms) : Millis(1h);
                               }};
  const auto tried = [&](const std::function<Errc()>& call) {
    sleeps.clear();
    const auto before = counts.requests.load();
    EXPECT_EQ(call(), Errc::exhausted);
    EXPECT_EQ(counts.requests, before + 3);
    EXPECT_EQ(sleeps, (std::vector{1, 2})) << "none after the last";
  };
  tried([&] { return client.try_acquire("k", options).error().code; });
  tried([&] {
    try {
      Lock(client, "k", options).lock();
      return Errc::busy;
    } catch (const Failure& failure) {
      return failure.error().code;
    }
  });
}

// 12. Darwin: LIKE '%_1' was to release the locks of instance 1, and released those of 11 and 21.
TEST_P(Defects, there_a_name_is_a_pattern_here_it_is_only_itself) {
  const std::vector<std::string> names{"node_1", "node_11", "nodeX1",   "node%", "node*",
                                       "node?1", "node[1]", "node\\_1", "n.*",   "%_1"};
  Client client = new_client();
  const auto acquire = [&](const std::string& name) {
    (void)client.acquire(name, {.ttl = 1h, .owner = name, .detached = true});
  };
  for (const std::string& name : names) acquire(name);
  const auto listed = [&](std::string_view prefix) {
    return by_hand_.list({.prefix = prefix}).leases.size();
  };
  EXPECT_EQ(listed("node_"), 2u);
  for (const char* prefix : {"node_11", "node%", "node*", "node?", "node[", "node\\", "n.", "%"}) {
    EXPECT_EQ(listed(prefix), 1u) << prefix;
  }
  for (const char* pattern : {"%", "_", "*", "?", "n%", "node__", ".*"}) {
    EXPECT_EQ(listed(pattern), pattern == std::string_view("%") ? 1u : 0u) << pattern;
    EXPECT_EQ(client.release("nodeX1", {pattern}), Released::never_held) << pattern;
    EXPECT_EQ(client.release(pattern, {"nodeX1"}), Released::never_held) << pattern;
    EXPECT_EQ(client.release_all({pattern}), 0u) << pattern;
  }
  for (std::size_t i = 0; i < names.size(); ++i) {
    EXPECT_EQ(client.release(names[i], {names[i]}), Released::released) << names[i];
    acquire(names[i]);
    EXPECT_EQ(client.release_all({names[i]}), 1u) << names[i];
    EXPECT_TRUE(is_free(names[i])) << names[i];
    for (std::size_t other = i + 1; other < names.size(); ++other) {
      EXPECT_FALSE(is_free(names[other])) << names[other] << " went with " << names[i];
    }
  }
}

// 14. locker: a waiter for a key whose row was pruned polled for ever in vain, and so did every object that
// had been there before.
TEST_P(Defects, there_a_waiter_never_wakes_after_a_prune_here_it_does) {
  Client before = new_client(), fair = new_client(), unfair = new_client();
  before.acquire("k").release();
  std::optional<Lease> lease = new_client().acquire("k", {.ttl = 1h});
  std::atomic<int> served = 0;
  std::jthread first([&] { served += fair.try_acquire("k", {.ttl = 1h, .wait = 1min}).has_value(); });
  std::jthread second(
      [&] { served += unfair.try_acquire("k", {.ttl = 1h, .wait = 1min, .fair = false}).has_value(); });
  EXPECT_TRUE(await([&] { return waiting("k") == 1; }));
  const auto prune = [&] { by_hand_.purge({.free_for = 0ms, .log_older_than = 0ms}); };
  prune();
  lease.reset();
  EXPECT_TRUE(await([&] {
    prune();
    return served == 2;
  }));
  EXPECT_TRUE(await([&] {
    prune();
    return row("k").token == no_token;
  })) << "the row is gone";
  EXPECT_TRUE(before.try_acquire("k", {.ttl = 1h}));
}

// 17. active_job_lock: a lock without end was `true`, which was read as the time 0 and was over.
TEST_P(Defects, there_a_lock_without_end_is_read_as_expired_here_it_is_held) {
  Client client = new_client();
  Lease lease = observer_.acquire("k", {.ttl = never});
  for (const Millis ttl : {Millis(12s), Millis(1h), Millis(never)}) {
    const auto refused = client.try_acquire("k", {.ttl = ttl});
    ASSERT_FALSE(refused) << "with a ttl of " << ttl.count();
    EXPECT_EQ(refused.error().code, Errc::busy);
    EXPECT_EQ(refused.error().owner, lease.owner());
    EXPECT_EQ(refused.error().remaining, never);
  }
  EXPECT_EQ(client.try_acquire("k", {.ttl = 1h, .wait = 50ms}).error().code, Errc::timeout);
  by_hand_.purge({.free_for = 0ms});
  EXPECT_EQ(row("k").token, lease.token());
  EXPECT_EQ(row("k").remaining, never);
  EXPECT_EQ(lease.release(), Released::released);
  EXPECT_TRUE(client.try_acquire("k", {.ttl = 1h}));
}

HOLDFAST_ON_EVERY_STORE(Defects);

}  // namespace
}  // namespace holdfast::test
