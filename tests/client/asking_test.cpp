// SPDX-License-Identifier: Apache-2.0
// Queries about keys, calls by owner name, and the defaults of a client.
#include <gmock/gmock.h>

#include "base/time.h"
#include "tests/client/suite.h"

namespace holdfast::test {
namespace {

using ::testing::HasSubstr;

class Ask : public ClientTest {};

TEST_P(Ask, read_returns_the_holder_and_acquires_nothing) {
  Counts counts;
  Client client = counted_client(counts);
  EXPECT_EQ(client.read("k").key, "k");
  EXPECT_EQ(client.read("k").remaining, 0ms);
  const Lease lease = new_client().acquire("k", {.ttl = 1h, .owner = "ann", .note = "for long"});
  const LeaseRow row = client.read("k");
  EXPECT_EQ(row.owner, "ann");
  EXPECT_EQ(row.token, lease.token());
  EXPECT_GT(row.remaining, 30min);
  EXPECT_EQ(row.note, "for long");
  EXPECT_EQ(counts.requests, 0u) << "no request for a lease";
  EXPECT_TRUE(lease.held());
  EXPECT_EQ(client.try_read("").error().code, Errc::invalid);
}

TEST_P(Ask, a_key_is_available_if_it_is_free_or_ours) {
  Client client = new_client();
  EXPECT_TRUE(client.available("k"));
  Lease lease = client.acquire("k", {.owner = "ann"});
  EXPECT_FALSE(client.available("k"));
  EXPECT_FALSE(client.available("k", {"bob"}));
  EXPECT_TRUE(client.available("k", {"ann"}));
  EXPECT_TRUE(lease.held()) << "asking takes nothing";
  lease.release();
  EXPECT_TRUE(client.available("k", {"bob"}));
  Client mine = new_client({.defaults = {.owner = "ann"}});
  const Lease theirs = client.acquire("theirs", {.owner = "ann"});
  EXPECT_TRUE(mine.available("theirs")) << "by the owner of its defaults";
  const Lease brief = short_lease(client, "brief", {.ttl = 300ms, .keep = false});
  EXPECT_TRUE(await([&] { return client.available("brief"); })) << "when it has run out";
}

TEST_P(Ask, all_that_an_owner_holds_is_released_and_nothing_else) {
  Client client = new_client();
  std::vector<Lease> old;
  for (const char* key : {"a", "b", "c"}) {
    old.push_back(client.acquire(key, {.ttl = 1h, .owner = "1", .detached = true}));
  }
  client.release("c", {"1"});
  const Lease longer = client.acquire("d", {.ttl = 1h, .owner = "11"});
  const Lease starts = client.acquire("e", {.ttl = 1h, .owner = "1_"});
  const Lease fresh = client.acquire("f", {.ttl = 1h});
  EXPECT_EQ(client.release_all({"1"}), 2u);
  EXPECT_TRUE(is_free("a"));
  EXPECT_TRUE(is_free("b"));
  for (const Lease* other : {&longer, &starts, &fresh})
    EXPECT_EQ(client.read(other->key()).token, other->token());
  EXPECT_EQ(client.release_all({"1"}), 0u);
  EXPECT_EQ(client.release_all({"%"}), 0u) << "no pattern";
  EXPECT_EQ(client.try_release_all({""}).error().code, Errc::invalid);
}

// An owner is an owner everywhere: a text alone is not taken for one.
template <class C>
concept takes_any_text = requires(C client, std::string_view text) {
  client.release_all(text);
}
|| requires(C client, std::string_view text) { client.try_release_all(text); };
static_assert(!takes_any_text<Client>);

TEST_P(Ask, the_time_left_of_a_lease_without_end_can_be_added_to_any_clock) {
  Client client = new_client();
  const Lease lease = client.acquire("k", {.ttl = never, .owner = "ann"});
  const Token older{to_number(lease.token()) - 1};
  const Millis all[] = {
      by_hand_.inspect("k").lease.remaining,
      by_hand_.list().leases.at(0).remaining,
      client.renew("k", {"ann"}, 1h),
      client.extend_by("k", {"ann"}, 1h),
      client.try_acquire("k").error().remaining,
      client.try_renew("k", {"bob"}, 1h).error().remaining,
      by_hand_.try_break_lease("k", older, {.by = "olga", .reason = "stuck"}).error().remaining,
      by_hand_.try_wait_until_free("k", {.wait = 0ms}).error().remaining,
  };
  const Instant now = BootClock::now();
  const std::chrono::sys_time<std::chrono::nanoseconds> wall = wall_now();
  for (const Millis& left : all) {
    EXPECT_EQ(left, never) << &left - all;
    EXPECT_EQ(left, endless_remaining) << &left - all;
    EXPECT_GT(now + left, now + 24h * 36525);
    EXPECT_GT(wall + left, wall + 24h * 36525);
  }
}

TEST_P(Ask, more_than_a_hundred_years_are_reported_as_a_hundred_years) {
  Client client = new_client();
  const Millis longest = 24h * 36525;
  const Lease lease = client.acquire("k", {.ttl = longest, .owner = "ann"});
  EXPECT_EQ(client.extend_by("k", {"ann"}, longest), longest);
  EXPECT_EQ(by_hand_.inspect("k").lease.remaining, longest);
  EXPECT_NE(by_hand_.inspect("k").lease.remaining, never) << "it has an end";
}

TEST_P(Ask, a_free_key_that_others_wait_for_is_not_available) {
  Client client = new_client();
  Lease lease = client.acquire("k");
  std::jthread waiter([other = new_client()](std::stop_token stop) mutable {
    const auto theirs = other.try_acquire("k", {.ttl = 1h, .wait = forever, .stop = stop});
    await([&] { return stop.stop_requested(); });
  });
  ASSERT_TRUE(await([&] { return waiting("k") == 1; }));
  lease.release();
  EXPECT_FALSE(client.available("k")) << "it is for the first of those who wait, or theirs already";
}

TEST_P(Ask, all_of_more_than_a_page_are_released) {
  Client client = new_client();
  for (int i = 0; i < 120; ++i) {
    (void)client.acquire("k" + std::to_string(i),
                         {.ttl = 1h, .owner = i % 2 == 0 ? "me" : "you", .detached = true});
  }
  EXPECT_EQ(client.release_all({"me"}), 60u);
  EXPECT_EQ(client.release_all({"me"}), 0u);
  EXPECT_EQ(client.release_all({"you"}), 60u);
}

TEST_P(Ask, an_interval_that_throws_leaves_nothing_behind) {
  std::atomic<bool> lose = true;
  Client client = chosen_client([&](std::span<const Request> requests) {
    return requests.front().verb == Verb::acquire && lose ? Fault{Fault::Kind::lose_after} : Fault{};
  });
  const auto throws = [](int) -> Millis { throw std::runtime_error("no more"); };
  EXPECT_THROW((void)client.try_acquire("k", {.ttl = 1h, .attempts = 3, .interval = throws}),
               std::runtime_error);
  EXPECT_TRUE(await([&] { return is_free("k"); }));
}

TEST_P(Ask, what_a_call_does_not_say_the_defaults_of_the_client_say) {
  std::atomic<int> asked = 0;
  Client client =
      new_client({.defaults = {.ttl = 1h, .owner = [&] { return "node-" + std::to_string(++asked); }}});
  const Lease first = client.acquire("k"), second = client.acquire("l");
  EXPECT_EQ(first.owner(), "node-1");
  EXPECT_EQ(second.owner(), "node-2");
  EXPECT_GT(client.read("k").remaining, 30min);
  const Lease said = client.acquire("m", {.ttl = 1min, .owner = "me"});
  EXPECT_EQ(said.owner(), "me");
  EXPECT_LE(client.read("m").remaining, 1min);
  EXPECT_EQ(asked, 2);
}

TEST_P(Ask, defaults_that_cannot_be_are_named_when_they_are_used) {
  Client client = new_client({.defaults = {.ttl = 1ms}});
  const auto refused = client.try_acquire("k");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::invalid);
  EXPECT_THAT(refused.error().detail, HasSubstr("a ttl of 1ms"));
  EXPECT_TRUE(client.try_acquire("k", {.ttl = 1min}));
}

TEST_P(Ask, an_owner_without_a_name_is_refused) {
  Client client = new_client();
  const std::string a_process(client.acquire("l").owner());
  EXPECT_EQ(client.try_acquire("k", {.owner = a_process}).error().code, Errc::invalid) << a_process;
  EXPECT_EQ(client.try_acquire("k", {.owner = ""}).error().code, Errc::invalid);
  EXPECT_EQ(client.try_acquire("k", {.owner = [] { return std::string(); }}).error().code, Errc::invalid);
}

TEST_P(Ask, a_lease_until_a_moment_lasts_until_then) {
  Client client = new_client();
  const auto soon = wall_now() + 10min;
  Lease lease = client.acquire("k", {.ttl = time_until(soon), .keep = false});
  EXPECT_GT(lease.remaining(), 9min);
  EXPECT_LE(client.read("k").remaining, 10min);
  lease.renew(time_until(soon + 30min));
  EXPECT_GT(lease.remaining(), 35min);
  EXPECT_EQ(lease.try_renew(time_until(soon - 1h)).error().code, Errc::invalid);
  EXPECT_EQ(lease.try_renew(0ms).error().code, Errc::invalid) << "a moment that is now";
  const auto past = client.try_acquire("l", {.ttl = time_until(soon - 1h)});
  ASSERT_FALSE(past);
  EXPECT_EQ(past.error().code, Errc::invalid);
}

TEST_P(Ask, a_lock_that_is_locked_twice_says_so_and_waits_for_nobody) {
  Client client = new_client();
  Lock lock(client, "k", {.ttl = 1h});
  EXPECT_FALSE(lock.held());
  lock.lock();
  EXPECT_TRUE(lock.held());
  const auto refused = [](auto call) {
    try {
      call();
    } catch (const Failure& failure) {
      EXPECT_THAT(failure.what(), HasSubstr("k is locked already"));
      return failure.error().code == Errc::invalid;
    }
    return false;
  };
  EXPECT_TRUE(refused([&] { lock.lock(); }));
  EXPECT_TRUE(refused([&] { (void)lock.try_lock(); }));
  EXPECT_TRUE(refused([&] { (void)lock.try_lock_for(1s); }));
  EXPECT_TRUE(lock.held()) << "and loses nothing by it";
  lock.unlock();
  EXPECT_FALSE(lock.held());
  EXPECT_TRUE(lock.try_lock());
}

TEST_P(Ask, loss_is_reported_after_the_lease_was_acquired_again) {
  std::atomic<int> told = 0;
  Client client = new_client();
  Lease lease = client.acquire("k", {.ttl = 1h, .owner = "me"});
  const std::stop_token handed_out = lease.stop_token();
  lease.on_lost([&](const Lost&) { ++told; });
  for (int i = 0; i < 3; ++i) lease = client.acquire("k", {.ttl = 1h, .owner = "me"});
  EXPECT_FALSE(handed_out.stop_requested());
  observer_.release("k", {"me"});  // behind its back
  EXPECT_EQ(lease.try_renew().error().code, Errc::lost);
  EXPECT_TRUE(await([&] { return handed_out.stop_requested() && told == 1; }));
}

TEST_P(Ask, a_lease_that_is_assigned_the_same_grant_keeps_the_stop_tokens_of_both) {
  Client client = new_client();
  Lease lease = client.acquire("k", {.ttl = 1h, .owner = "me"});
  const std::stop_token first = lease.stop_token();
  Lease again = client.acquire("k", {.ttl = 1h, .owner = "me"});
  const std::stop_token second = again.stop_token();
  lease = std::move(again);
  observer_.release("k", {"me"});  // behind its back
  EXPECT_FALSE(lease.try_renew());
  EXPECT_TRUE(await([&] { return first.stop_requested() && second.stop_requested(); }));
}

TEST_P(Ask, a_lease_that_is_assigned_twice_keeps_the_stop_tokens_of_all) {
  Client client = new_client();
  const AcquireOptions mine{.ttl = 1h, .owner = "me"};
  Lease x = client.acquire("k", mine), y = client.acquire("k", mine), z = client.acquire("k", mine);
  const std::stop_token first = x.stop_token(), second = y.stop_token(), third = z.stop_token();
  x = std::move(y);
  z = std::move(x);
  observer_.release("k", {"me"});  // behind its back
  EXPECT_FALSE(z.try_renew());
  EXPECT_TRUE(
      await([&] { return first.stop_requested() && second.stop_requested() && third.stop_requested(); }));
}

TEST_P(Ask, a_lock_of_a_detached_lease_is_unlocked) {
  Lock lock(new_client(), "k", {.ttl = 1h, .detached = true});
  lock.lock();
  EXPECT_FALSE(is_free("k"));
  lock.unlock();
  EXPECT_TRUE(is_free("k"));
}

TEST_P(Ask, a_lease_that_is_acquired_again_into_the_same_object_goes_on) {
  Client client = new_client();
  Lease lease = client.acquire("k", {.ttl = 1h, .owner = "me"});
  const Token token = lease.token();
  lease = client.acquire("k", {.ttl = 1h, .owner = "me"});
  EXPECT_EQ(lease.token(), token);
  EXPECT_TRUE(lease.held());
  EXPECT_FALSE(client.available("k")) << "not released with what was there before";
  Client other = new_client();
  lease = other.acquire("k", {.ttl = 1h, .owner = "me"});
  EXPECT_FALSE(client.available("k")) << "nor if it was another client that acquired it again";
  lease = client.acquire("l", {.ttl = 1h, .owner = "me"});
  EXPECT_TRUE(client.available("k")) << "another key: the old one is let go";
}

TEST_P(Ask, a_lock_that_is_only_tried_is_tried_once_whatever_schedule_its_client_has) {
  int slept = 0;
  const auto at_once = [&](int) { return Millis(0 * ++slept); };
  Client client = new_client({.defaults = {.attempts = 3, .interval = at_once}});
  const Lease other = client.acquire("k");
  Lock lock(client, "k"), scheduled(client, "k", {.attempts = 3, .interval = at_once});
  EXPECT_FALSE(lock.try_lock());
  EXPECT_FALSE(scheduled.try_lock());
  EXPECT_EQ(slept, 0);
}

HOLDFAST_ON_EVERY_STORE(Ask);

}  // namespace
}  // namespace holdfast::test
