// SPDX-License-Identifier: Apache-2.0
#include "tests/client/suite.h"

namespace holdfast::test {
namespace {

class Acquire : public ClientTest {};

TEST_P(Acquire, a_lease_is_held_until_released) {
  Client client = new_client();
  Lease lease = client.acquire("k");
  EXPECT_TRUE(lease.held());
  EXPECT_EQ(lease.key(), "k");
  EXPECT_GT(lease.remaining(), 20s);
  EXPECT_LT(lease.remaining(), 30s);
  EXPECT_EQ(lease.attempts(), 1);
  EXPECT_NO_THROW(lease.check());
  EXPECT_EQ(lease.release(), Released::released);
  EXPECT_FALSE(lease.held());
  EXPECT_FALSE(lease.stop_token().stop_requested());  // released is not lost
  EXPECT_THROW(lease.check(), LeaseLost);
  EXPECT_EQ(lease.release(), Released::already_released);
  EXPECT_TRUE(is_free("k"));
}

TEST_P(Acquire, busy_is_an_ordinary_answer_that_says_who_holds_it) {
  Client a = new_client(), b = new_client();
  const Lease mine = a.acquire("k");
  const auto other = b.try_acquire("k");
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().code, Errc::busy);
  EXPECT_TRUE(other.error().busy());
  EXPECT_TRUE(other.error().retryable());
  EXPECT_EQ(other.error().owner, mine.owner());
  EXPECT_GT(other.error().remaining, 20s);
  EXPECT_THROW((void)b.acquire("k"), Failure);
}

TEST_P(Acquire, two_acquisitions_of_one_client_exclude_each_other) {
  Client client = new_client();
  const Lease first = client.acquire("k");
  EXPECT_FALSE(client.try_acquire("k"));
}

TEST_P(Acquire, the_destructor_releases) {
  Client client = new_client();
  { const Lease lease = client.acquire("k"); }
  EXPECT_TRUE(is_free("k"));
}

TEST_P(Acquire, a_lease_keeps_alive_what_it_needs) {
  Lease lease = [this] {
    Client client = new_client();
    return short_lease(client, "k", {.ttl = 3s});
  }();
  const Instant first = lease.deadline();
  EXPECT_TRUE(await([&] { return lease.deadline() > first; }));  // renewed, though the client is gone
  EXPECT_EQ(lease.release(), Released::released);
}

TEST_P(Acquire, assigning_releases_what_was_held) {
  Client client = new_client();
  Lease lease = client.acquire("k");
  lease = client.acquire("l");
  EXPECT_TRUE(is_free("k"));
  EXPECT_FALSE(is_free("l"));
  lease = Lease();
  EXPECT_TRUE(is_free("l"));
  EXPECT_FALSE(lease.held());
  EXPECT_EQ(lease.release(), Released::never_held);
}

TEST_P(Acquire, the_last_lease_object_of_a_grant_releases_it) {
  Client client = new_client();
  Lease lease = client.acquire("k", {.owner = "me"});
  const std::stop_token before = lease.stop_token();
  lease = client.acquire("k", {.owner = "me"});
  EXPECT_TRUE(lease.held());
  EXPECT_FALSE(is_free("k"));
  EXPECT_FALSE(before.stop_requested());
  { const Lease again = client.acquire("k", {.owner = "me"}); }
  EXPECT_FALSE(is_free("k"));
  lease.renew();
  lease = Lease();
  EXPECT_TRUE(is_free("k"));
}

TEST_P(Acquire, releasing_a_grant_stops_the_other_lease_objects_that_hold_it) {
  Client client = new_client();
  const Lease first = client.acquire("k", {.owner = "me"});
  Lease again = client.acquire("k", {.owner = "me"});
  EXPECT_EQ(again.release(), Released::released);
  EXPECT_TRUE(first.stop_token().stop_requested());
  EXPECT_FALSE(first.held());
  EXPECT_EQ(first.lost().reason, Loss::gone);
  EXPECT_TRUE(is_free("k"));
}

TEST_P(Acquire, tokens_rise_from_client_to_client) {
  Client a = new_client(), b = new_client();
  const Token first = a.acquire("k").token();
  EXPECT_GT(b.acquire("k").token(), first);
}

TEST_P(Acquire, a_name_of_ones_own_acquires_again_what_it_has) {
  Client a = new_client(), b = new_client();
  Lease first = a.acquire("k", {.owner = "me"});
  Lease again = b.acquire("k", {.owner = "me"});
  EXPECT_EQ(first.token(), again.token());
  EXPECT_FALSE(b.try_acquire("k", {.owner = "you"}));
  EXPECT_EQ(again.release(), Released::released);
  EXPECT_EQ(first.release(), Released::already_released);
}

TEST_P(Acquire, a_name_that_holds_the_key_does_not_wait_for_itself_behind_another) {
  Client client = new_client();
  const Lease held = client.acquire("k", {.owner = "me"});
  std::stop_source stop;
  std::jthread waiter([&] { (void)client.try_acquire("k", {.wait = forever, .stop = stop.get_token()}); });
  ASSERT_TRUE(await([&] { return waiting("k") == 1; }));
  const Lease waited = client.acquire("k", {.wait = 10s, .owner = "me"});
  const Lease back = client.acquire("k", {.owner = "me"});
  EXPECT_EQ(waited.token(), held.token());
  EXPECT_EQ(back.token(), held.token());
  stop.request_stop();
}

TEST_P(Acquire, renew_and_release_by_name_work_from_another_client) {
  Client a = new_client(), b = new_client();
  Lease lease = a.acquire("k", {.owner = "me"});
  EXPECT_TRUE(b.try_renew("k", {"me"}, 1min));
  EXPECT_TRUE(b.try_extend_by("k", {"me"}, 1min));
  EXPECT_TRUE(b.try_extend_by("k", {"me"}, 1ms)) << "little is enough, as for a lease of one's own";
  EXPECT_EQ(b.try_extend_by("k", {"me"}, 0ms).error().code, Errc::invalid);
  EXPECT_GT(by_hand_.list({.prefix = "k"}).leases.at(0).remaining, 100s);
  EXPECT_GT(b.renew("k", {"me"}, 1s), 100s) << "what is left, not what was asked for";
  const auto not_mine = b.try_renew("k", {"you"}, 1min);
  ASSERT_FALSE(not_mine);
  EXPECT_EQ(not_mine.error().code, Errc::lost);
  EXPECT_EQ(b.release("k", {"you"}), Released::never_held);
  EXPECT_EQ(b.release("k", {"me"}), Released::released);
  EXPECT_EQ(b.release("k", {"me"}), Released::already_released);
  EXPECT_EQ(b.release("absent", {"me"}), Released::never_held);
}

TEST_P(Acquire, releasing_what_ran_out_says_expired_and_what_was_taken_says_stolen) {
  Client a = new_client(), b = new_client();
  Lease expired = short_lease(a, "k", {.ttl = 300ms, .keep = false});
  Lease stolen = short_lease(a, "l", {.ttl = 300ms, .keep = false});
  ASSERT_TRUE(await([&] { return is_free("k") && is_free("l"); }));
  EXPECT_EQ(release_of_lost(expired), Released::expired);
  const Lease thief = b.acquire("l");
  EXPECT_EQ(release_of_lost(stolen), Released::stolen);
  EXPECT_EQ(a.release("l", {"somebody"}), Released::never_held);
  EXPECT_EQ(a.read("l").token, thief.token());
  EXPECT_GT(a.read("l").remaining, 0ms);
  EXPECT_TRUE(thief.held());
}

TEST_P(Acquire, renewing_by_hand_restarts_and_extending_adds) {
  Client client = new_client();
  Lease lease = client.acquire("k", {.ttl = 10s, .keep = false});
  lease.renew(20s);
  EXPECT_GT(lease.remaining(), 15s);
  EXPECT_LT(lease.remaining(), 20s);
  lease.renew();  // the ttl is 20 s from now on
  EXPECT_GT(lease.remaining(), 15s);
  lease.extend_by(40s);
  EXPECT_GT(lease.remaining(), 50s);
  EXPECT_LT(lease.remaining(), 60s);
  EXPECT_FALSE(lease.try_extend_by(0ms));
  EXPECT_FALSE(lease.try_renew(-1ms));
}

TEST_P(Acquire, a_lease_without_end_is_held_without_renewing) {
  Counts counts;
  Client client = counted_client(counts);
  Lease lease = client.acquire("k", {.ttl = never});
  EXPECT_GT(BootClock::now() + lease.remaining(), BootClock::now() + std::chrono::years(90));
  EXPECT_EQ(lease.deadline(), Instant::max());
  EXPECT_TRUE(lease.held());
  EXPECT_EQ(lease.release(), Released::released);
  EXPECT_EQ(counts.trips, 2u);
}

TEST_P(Acquire, a_detached_lease_outlives_its_object_and_its_client) {
  std::string owner;
  {
    Client client = new_client();
    owner = client.acquire("k", {.ttl = 1h, .detached = true}).owner();
  }
  EXPECT_FALSE(is_free("k"));
  EXPECT_TRUE(by_hand_.list({.prefix = "k"}).leases.at(0).detached);
  EXPECT_EQ(observer_.release("k", {owner}), Released::released);
}

TEST_P(Acquire, uncontended_each_verb_is_one_round_trip) {
  Counts counts;
  Client client = counted_client(counts);
  Lease lease = client.acquire("k", {.wait = 5s});
  EXPECT_EQ(counts.trips, 1u);
  lease.renew();
  EXPECT_EQ(counts.trips, 2u);
  lease.release();
  EXPECT_EQ(counts.trips, 3u);
  EXPECT_EQ(counts.requests, 3u);
}

TEST_P(Acquire, many_threads_share_a_client_and_every_request_is_sent_once) {
  Counts counts;
  Client client = counted_client(counts);
  std::vector<std::jthread> threads;
  for (int i = 0; i < 16; ++i) {
    threads.emplace_back([&, i] {
      for (int n = 0; n < 20; ++n) EXPECT_TRUE(client.try_acquire("k" + std::to_string(i)));
    });
  }
  threads.clear();
  EXPECT_EQ(counts.requests, 16u * 20u * 2u);
}

TEST_P(Acquire, another_table_is_another_set_of_keys) {
  if (database_->url().empty()) {  // memory
    EXPECT_EQ(new_client().try_in("other").error().code, Errc::invalid);
    return;
  }
  (void)database_->new_client()->in("other_locks").value()->admin()->init(BootClock::now() + 10s).value();
  Client client = new_client();
  Client other = client.in("other_locks");
  const Lease here = client.acquire("k"), there = other.acquire("k");
  EXPECT_TRUE(here.held() && there.held());
  EXPECT_EQ(client.try_in("no such; $table").error().code, Errc::invalid);
  // in() returns the same client for each call: one keeper, and one place in each queue.
  Lease chosen = client.in("other_locks").acquire("per call");
  EXPECT_EQ(client.in("other_locks").try_acquire("per call").error().code, Errc::busy);
  const auto made_by = [](const Lease& lease) { return lease.owner().substr(0, lease.owner().size() - 16); };
  EXPECT_EQ(made_by(client.in("other_locks").acquire("another")), made_by(chosen));
  EXPECT_TRUE(chosen.held());
}

TEST_P(Acquire, a_client_creates_the_tables_that_are_missing_if_it_is_told_to) {
  struct Inits : Observer {
    void on_store_call(const StoreCallEvent& call) override {
      if (call.operation == StoreOperation::init) ++count;
    }
    std::atomic<int> count = 0;
  };
  const auto other = database_->new_client()->in("new_locks");
  if (!other) return;  // memory
  const auto refused = Client::try_make(*other);
  // SQLite creates its tables itself; Redis and MongoDB have none that must be there.
  const bool needs_tables = GetParam().server && !refused;
  if (GetParam().name == "postgres" || GetParam().name == "mariadb") {
    ASSERT_TRUE(needs_tables);
    EXPECT_EQ(refused.error().code, Errc::unprepared) << refused.error().detail;
  }
  const auto inits = std::make_shared<Inits>();
  for (const Connect connect : {Connect::lazy, Connect::at_once}) {
    Client client(*other, {.connect = connect, .init = true, .observer = inits});
    EXPECT_TRUE(client.acquire("k").held());
    EXPECT_EQ(inits->count, needs_tables ? 1 : 0) << "only the first one lacks them";
  }
  EXPECT_TRUE(Client(*other).acquire("k").held()) << "and then nobody needs to be told";
}

TEST_P(Acquire, bad_input_is_refused_before_anything_is_sent) {
  Counts counts;
  Client client = counted_client(counts);
  const auto code = [&](std::string_view key, AcquireOptions options) {
    const auto result = client.try_acquire(key, std::move(options));
    return result ? Errc::busy : result.error().code;
  };
  EXPECT_EQ(code("", {}), Errc::invalid);
  EXPECT_EQ(code(std::string(513, 'k'), {}), Errc::invalid);
  EXPECT_EQ(code(std::string_view("a\0b", 3), {}), Errc::invalid);
  EXPECT_EQ(code("\xff", {}), Errc::invalid);
  EXPECT_EQ(code("k", {.ttl = 0ms}), Errc::invalid);
  EXPECT_EQ(code("k", {.ttl = -1s}), Errc::invalid);
  EXPECT_EQ(code("k", {.wait = -1s}), Errc::invalid);
  EXPECT_EQ(code("k", {.interval = 10ms}), Errc::invalid);
  EXPECT_EQ(code("k", {.ttl = 10s, .renew_every = 10s}), Errc::invalid);
  EXPECT_EQ(code("k", {.attempts = -1}), Errc::invalid);
  EXPECT_EQ(counts.trips, 0u);
}

// Replies that the lease is granted, with less time left than was asked for.
class Stingy final : public StoreConnection {
 public:
  explicit Stingy(std::unique_ptr<StoreConnection> inner) : inner_(std::move(inner)) {}
  Status apply(std::span<const Request> requests, std::span<Reply> replies, Instant until) override {
    Status status = inner_->apply(requests, replies, until);
    for (Reply& reply : replies) reply.remaining = std::min(reply.remaining, Millis(20s));
    return status;
  }
  Result<Page> list(const Query& query, Instant until) override { return inner_->list(query, until); }
  Result<Traits> examine(Instant until) override { return inner_->examine(until); }

 private:
  const std::unique_ptr<StoreConnection> inner_;
};

TEST_P(Acquire, nobody_believes_longer_than_the_store_says) {
  Client client(wrapped(database_->new_client(), [](std::unique_ptr<StoreConnection> connection) {
    return std::make_unique<Stingy>(std::move(connection));
  }));
  const Lease lease = client.acquire("k", {.ttl = 30s, .keep = false});
  EXPECT_LT(lease.deadline(), BootClock::now() + 20s);
}

TEST_P(Acquire, a_lock_works_with_the_std_vocabulary) {
  Client client = new_client();
  std::atomic<int> counter = 0;  // read and written apart: an overlap would lose an update
  std::vector<std::jthread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&, i] {
      Client own = new_client();
      Lock x(own, "x"), y(own, "y");
      for (int n = 0; n < 10; ++n) {
        if (i % 2 == 0) {
          const std::scoped_lock both(x, y);
          counter.store(counter.load() + 1);
        } else {
          const std::scoped_lock both(y, x);
          counter.store(counter.load() + 1);
        }
      }
    });
  }
  threads.clear();
  EXPECT_EQ(counter, 40);
  Lock lock(client, "x"), rival(client, "x");
  std::unique_lock held(lock);
  EXPECT_TRUE(lock.lease().held());
  EXPECT_FALSE(rival.try_lock());
  EXPECT_FALSE(rival.try_lock_for(1ms));
  held.unlock();
  EXPECT_TRUE(rival.try_lock_until(BootClock::now() + 5s));
}

HOLDFAST_ON_EVERY_STORE(Acquire);

}  // namespace
}  // namespace holdfast::test
