// SPDX-License-Identifier: Apache-2.0
// What Ruby's redis_exp_lock promises, in our words: docs/parity.md.
#include <mutex>
#include <thread>

#include "tests/client/suite.h"

namespace holdfast::test {
namespace {

class RedisExpLock : public ClientTest {
 protected:
  Errc code_of(const std::function<void()>& call) {
    try {
      call();
    } catch (const Failure& failure) {
      return failure.error().code;
    }
    ADD_FAILURE() << "nothing was thrown";
    return Errc::busy;
  }

  Client client_ = new_client();
};

TEST_P(RedisExpLock, retries_exceeded_are_too_many_attempts) {
  const Lease other = client_.acquire("lock_key");
  const auto refused = client_.try_acquire("lock_key", {.attempts = 3, .interval = 10ms});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::exhausted);
  Lock lock(client_, "lock_key", {.attempts = 3, .interval = 10ms});
  EXPECT_EQ(code_of([&] { lock.lock(); }), Errc::exhausted) << "thrown by lock()";
  bool ran = false;
  const auto outcome = client_.run("lock_key", {.attempts = 3, .interval = 10ms}, [&] { ran = true; });
  EXPECT_FALSE(outcome.ran || ran) << "and run() runs nothing";
  EXPECT_EQ(outcome.owner, other.owner());
}

TEST_P(RedisExpLock, the_body_is_passed_as_many_attempts_as_were_sent) {
  Lease other = client_.acquire("lock_key");
  Counts counts;
  Client counted = counted_client(counts);
  std::jthread unlocker([&] {
    EXPECT_TRUE(await([&] { return counts.requests >= 3; }));
    other.release();
  });
  const auto outcome = counted.run("lock_key", {.attempts = 10'000, .interval = 10ms}, [&](Lease& lease) {
    EXPECT_EQ(static_cast<std::uint64_t>(lease.attempts()), counts.requests);
    return lease.attempts();
  });
  EXPECT_GT(outcome.value.value_or(0), 3);
}

TEST_P(RedisExpLock, try_lock_asks_once_whatever_the_retries_are) {
  const Lease other = client_.acquire("lock_key");
  Counts counts;
  Client counted = counted_client(counts);
  Lock lock(counted, "lock_key", {.attempts = 5, .interval = 10ms});
  EXPECT_FALSE(lock.try_lock());
  EXPECT_EQ(counts.requests, 1u);
}

TEST_P(RedisExpLock, locked_sends_nothing_to_redis) {
  Counts counts;
  Client counted = counted_client(counts);
  Lock lock(counted, "lock_key");
  EXPECT_FALSE(lock.held());
  lock.lock();
  const auto before = counts.trips.load();
  EXPECT_TRUE(lock.held());
  EXPECT_TRUE(lock.lease().held());
  EXPECT_EQ(counts.trips, before);
  lock.unlock();
  EXPECT_FALSE(lock.held());
}

TEST_P(RedisExpLock, locked_says_no_when_the_key_may_have_expired) {
  Lock lock(client_, "lock_key", {.ttl = 2s, .keep = false});
  lock.lock();
  EXPECT_TRUE(await([&] { return !lock.held(); }));
}

TEST_P(RedisExpLock, the_key_is_owned_by_its_owner_only) {
  const auto owned = [&](const Lease& lease) {
    const LeaseRow row = client_.read("lock_key");
    return row.remaining > 0ms && row.owner == lease.owner();
  };
  const Lease first = short_lease(client_, "lock_key", {.ttl = 300ms, .keep = false});
  EXPECT_TRUE(owned(first) || !first.held());
  ASSERT_TRUE(await([&] { return is_free("lock_key"); }));
  EXPECT_FALSE(owned(first)) << "it expired, and nobody has it";
  Lease second = client_.acquire("lock_key");
  EXPECT_TRUE(owned(second));
  EXPECT_FALSE(owned(first)) << "another has it";
  EXPECT_EQ(second.release(), Released::released);
  EXPECT_FALSE(owned(second)) << "it was unlocked, and nobody has it";
  const Lease third = client_.acquire("lock_key");
  EXPECT_TRUE(owned(third));
  EXPECT_FALSE(owned(second));
}

// As with the gem, which raises AlreadyAcquiredLockError until unlock was called.
TEST_P(RedisExpLock, a_lock_that_expired_is_locked_again_without_being_unlocked) {
  Lock lock(client_, "lock_key", {.ttl = 2s, .keep = false});
  lock.lock();
  const Token first = lock.lease().token();
  ASSERT_TRUE(await([&] { return is_free("lock_key"); }));
  EXPECT_FALSE(lock.held());
  EXPECT_EQ(lock.lease().lost().reason, Loss::unreachable);
  lock.lock();
  EXPECT_GT(to_number(lock.lease().token()), to_number(first));
}

TEST_P(RedisExpLock, an_unlock_that_does_not_get_through_leaves_no_object_locked) {
  Trouble trouble;
  Client troubled = troubled_client(trouble);
  Lock lock(troubled, "lock_key", {.ttl = 3s});
  lock.lock();
  trouble.set(Fault::Kind::refuse_before);
  EXPECT_FALSE(lock.lease().try_release());
  EXPECT_FALSE(lock.held());
  lock.unlock();
  trouble.end();
  lock.lock();
  EXPECT_TRUE(lock.held());
}

TEST_P(RedisExpLock, each_acquisition_has_a_name_of_its_own) {
  const Lease first = client_.acquire("lock_key"), second = client_.acquire("other_key");
  EXPECT_NE(first.owner(), second.owner());
  EXPECT_EQ(client_.release("lock_key", {second.owner()}), Released::never_held);
  EXPECT_EQ(client_.read("lock_key").owner, first.owner());
}

TEST_P(RedisExpLock, a_lock_that_expires_inside_the_body_does_not_harm_the_next_holder) {
  std::optional<Lease> next;
  const auto outcome = client_.try_run("lock_key", {.ttl = 2s, .wait = 30s, .keep = false},
                                       [&] { next = client_.acquire("lock_key", {.wait = 30s}); });
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().code, Errc::lost);
  EXPECT_EQ(client_.read("lock_key").token, next->token());
}

HOLDFAST_ON_STORES(RedisExpLock, kinds_named({"redis"}));

}  // namespace
}  // namespace holdfast::test
