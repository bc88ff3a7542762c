// SPDX-License-Identifier: Apache-2.0
// What Ruby's mongo-lock promises, in our words: docs/parity.md.
#include <unistd.h>

#include <sstream>

#include "tests/client/suite.h"

namespace holdfast::test {
namespace {

class MongoLock : public ClientTest {
 protected:
  static std::string this_thread() {
    std::ostringstream text;
    text << "web1:" << getpid() << ':' << std::this_thread::get_id();
    return text.str();
  }
  // Acquired and run out.
  Lease run_out(const std::string& key, const Owner& owner = {}) {
    Lease lease = short_lease(client_, key, {.ttl = 100ms, .owner = owner, .keep = false});
    EXPECT_TRUE(await([&] { return is_free(key); }));
    return lease;
  }

  Client client_ = new_client();
};

TEST_P(MongoLock, acquire_with_an_exclamation_mark_raises_and_without_returns) {
  const Lease other = client_.acquire("my_key", {.owner = "another"});
  EXPECT_TRUE(client_.try_acquire("my_key").error().busy());
  EXPECT_THROW((void)client_.acquire("my_key"), Failure);
}

TEST_P(MongoLock, its_defaults_may_be_those_of_a_client) {
  int slept = 0;
  const auto no_second = [&](int attempt) {
    EXPECT_EQ(attempt, ++slept);
    return 0ms;
  };
  Client gem = new_client({.defaults = {.ttl = 10s, .attempts = 100, .interval = no_second, .keep = false}});
  const Lease lease = gem.acquire("free");
  EXPECT_LE(client_.read("free").remaining, 10s);
  const Lease other = client_.acquire("my_key");
  EXPECT_EQ(gem.try_acquire("my_key").error().code, Errc::exhausted);
  EXPECT_EQ(slept, 99);
}

TEST_P(MongoLock, what_an_object_or_a_call_says_comes_first_and_stays_its_own) {
  Client configured = new_client({.defaults = {.ttl = 10s, .owner = "configured"}});
  Lock object(configured, "object", {.ttl = 1h, .owner = "its own"});
  object.lock();
  EXPECT_EQ(client_.read("object").owner, "its own");
  EXPECT_GT(client_.read("object").remaining, 30min);
  const Lease call = configured.acquire("call", {.ttl = 1h});
  EXPECT_EQ(call.owner(), "configured");
  EXPECT_GT(client_.read("call").remaining, 30min);
  const Lease after = configured.acquire("after");
  EXPECT_LE(client_.read("after").remaining, 10s);
  const Lease another = client_.acquire("another");
  EXPECT_NE(another.owner(), "configured") << "nothing is global";
  EXPECT_GT(client_.read("another").remaining, 10s);
}

TEST_P(MongoLock, waiting_ends_by_its_time_or_its_limit_whichever_is_first) {
  const Lease other = client_.acquire("my_key");
  const auto end = [&](const AcquireOptions& options) {
    Client impatient = new_client({.defaults = {.attempts = 3, .interval = 1ms}});
    return impatient.try_acquire("my_key", options).error().code;
  };
  EXPECT_EQ(end({}), Errc::exhausted);
  EXPECT_EQ(end({.wait = 20s}), Errc::exhausted);
  EXPECT_EQ(end({.wait = 20ms, .attempts = 1'000'000}), Errc::timeout);
  EXPECT_EQ(end({.wait = 20ms, .attempts = 0}), Errc::timeout) << "none is no limit";
}

TEST_P(MongoLock, an_owner_without_a_name_is_host_and_process_and_more) {
  const Lease one = client_.acquire("one"), two = client_.acquire("two");
  char host[256] = {};
  ASSERT_EQ(gethostname(host, sizeof host - 1), 0);
  const std::string who = "host:" + std::string(host) + " pid:" + std::to_string(getpid()) + " guid:";
  EXPECT_TRUE(one.owner().starts_with(who)) << one.owner();
  EXPECT_TRUE(two.owner().starts_with(who)) << two.owner();
  EXPECT_NE(one.owner(), two.owner());
}

// The gem made one text of the function when it was configured twice, and all threads were one owner.
TEST_P(MongoLock, an_owner_that_names_the_thread_keeps_threads_apart) {
  Client client = new_client({.defaults = {.ttl = 1h, .owner = this_thread}});
  const Lease lease = client.acquire("my_key"), again = client.acquire("my_key");
  EXPECT_EQ(lease.owner(), this_thread());
  EXPECT_EQ(again.token(), lease.token());
  std::jthread([&] {
    const auto other = client.try_acquire("my_key");
    ASSERT_FALSE(other);
    EXPECT_EQ(other.error().owner, lease.owner());
  }).join();
}

TEST_P(MongoLock, the_same_owner_acquires_again_and_extends_what_it_has) {
  const AcquireOptions options{.ttl = 10s, .owner = {"my", "owner", "id"}, .keep = false};
  const Lease first = client_.acquire("my_key", options);
  AcquireOptions longer = options;
  longer.ttl = 1h;
  const Lease again = new_client().acquire("my_key", longer);
  EXPECT_EQ(again.owner(), "my:owner:id");
  EXPECT_EQ(again.token(), first.token());
  const auto rows = by_hand_.list().leases;
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_GT(rows[0].remaining, 30min);
}

// There the object went on believing in its first end, and left the document when it was released.
TEST_P(MongoLock, what_was_extended_is_believed_extended_again_and_released) {
  Lease lease = client_.acquire("my_key", {.ttl = 10s, .keep = false});
  for (const Millis most : {1h + 10s, 2h + 10s}) {
    lease.extend_by(1h);
    EXPECT_GT(lease.remaining(), most - 30min);
    EXPECT_LE(client_.read("my_key").remaining, most);
  }
  EXPECT_EQ(lease.release(), Released::released);
  EXPECT_TRUE(is_free("my_key"));
}

TEST_P(MongoLock, nobody_extends_what_was_released_has_expired_is_anothers_or_was_never_acquired) {
  const auto refused = [](Lease& lease) {
    EXPECT_THROW(lease.extend_by(10s), LeaseLost);
    EXPECT_THROW(lease.renew(), LeaseLost);
    EXPECT_EQ(lease.try_renew().error().code, Errc::lost);
    return lease.try_extend_by(10s).error().code;
  };
  Lease released = client_.acquire("released"), never;
  released.release();
  EXPECT_EQ(refused(released), Errc::lost);
  Lease expired = run_out("expired");
  EXPECT_EQ(refused(expired), Errc::lost);
  EXPECT_TRUE(is_free("expired"));
  Lease stolen = client_.acquire("stolen", {.ttl = 1h, .owner = "me"});
  observer_.release("stolen", {"me"});  // behind its back
  const Lease thief = observer_.acquire("stolen", {.owner = "thief"});
  EXPECT_EQ(refused(stolen), Errc::lost);
  EXPECT_EQ(client_.read("stolen").owner, "thief");
  EXPECT_EQ(refused(never), Errc::lost);
  EXPECT_EQ(client_.try_extend_by("absent", {"me"}, 10s).error().code, Errc::lost);
  EXPECT_THROW(client_.extend_by("absent", {"me"}, 10s), LeaseLost);
}

TEST_P(MongoLock, acquired_expired_and_released_are_distinguished) {
  Lease never, released = client_.acquire("released");
  const Lease expired = run_out("expired");
  EXPECT_FALSE(never.held());
  EXPECT_TRUE(released.held());
  ASSERT_TRUE(await([&] { return expired.stop_token().stop_requested(); }));
  EXPECT_TRUE(await([&] { return !expired.held(); }));
  EXPECT_EQ(expired.lost().reason, Loss::unreachable);
  released.release();
  EXPECT_FALSE(released.held());
  EXPECT_EQ(released.lost().reason, Loss::none);
}

TEST_P(MongoLock, a_release_is_false_if_it_was_never_acquired_and_true_if_it_was_released_or_has_expired) {
  Counts counts;
  Client client = counted_client(counts);
  const auto release = [&] { return client.release("my_key", {"me"}) != Released::never_held; };
  EXPECT_FALSE(release());
  Lease other = client_.acquire("my_key", {.ttl = 1h});
  EXPECT_FALSE(release());
  EXPECT_EQ(counts.requests, 2u) << "it does not try to acquire first";
  EXPECT_EQ(client_.read("my_key").token, other.token()) << "and leaves what is another's";
  other.release();
  const Lease lease = client_.acquire("my_key", {.ttl = 1h, .owner = "me"});
  EXPECT_TRUE(release());
  EXPECT_TRUE(is_free("my_key"));
  EXPECT_TRUE(release()) << "already released";
  const Lease brief = run_out("my_key", "me");
  EXPECT_EQ(client.release("my_key", {"me"}), Released::expired);
  EXPECT_TRUE(release());
}

// There the second release of an object returned true and left the document.
TEST_P(MongoLock, an_object_that_is_used_again_releases_again) {
  Lock lock(client_, "my_key", {.ttl = 1h});
  for (int i = 0; i < 2; ++i) {
    lock.lock();
    EXPECT_FALSE(is_free("my_key"));
    lock.unlock();
    EXPECT_TRUE(is_free("my_key"));
  }
}

TEST_P(MongoLock, each_collection_is_released_and_cleaned_by_itself) {
  Client other = client_.in("other_locks");
  Admin in_other(other);
  in_other.init();
  for (Client* client : {&client_, &other}) {
    (void)client->acquire("held", {.ttl = 1h, .owner = "me", .detached = true});
    client->acquire("old").release();
  }
  EXPECT_EQ(client_.release_all({"me"}), 1u);
  EXPECT_TRUE(client_.available("held"));
  EXPECT_EQ(other.read("held").owner, "me");
  EXPECT_EQ(other.release_all({"me"}), 1u);
  let_pass(1ms);  // a key stays until the clock has passed its token
  EXPECT_EQ(by_hand_.purge({.free_for = 0ms}).keys, 2u);
  EXPECT_EQ(in_other.list().leases.size(), 2u);
  EXPECT_EQ(in_other.purge({.free_for = 0ms}).keys, 2u);
  EXPECT_TRUE(in_other.list().leases.empty());
}

HOLDFAST_ON_STORES(MongoLock, kinds_named({"mongodb", "mongo_lock"}));

}  // namespace
}  // namespace holdfast::test
