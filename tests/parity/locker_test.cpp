// SPDX-License-Identifier: Apache-2.0
// What Ruby's locker promises, in our words: docs/parity.md.
#include <gmock/gmock.h>
#include <unistd.h>

#include <future>
#include <mutex>

#include "base/time.h"
#include "tests/client/suite.h"
#include "tests/processes/process.h"

namespace holdfast::test {
namespace {

using ::testing::MatchesRegex;

class Locker : public ClientTest {
 protected:
  // Takes from "me" what it holds, as if it had run out.
  Lease rob(std::string_view key) {
    observer_.release(key, {"me"});
    return observer_.acquire(key, {.owner = "thief"});
  }
  Client client_ = new_client();
};

TEST_P(Locker, run_skips_what_is_busy_and_says_so) {
  const Lease other = client_.acquire("unique-key", {.owner = "another server"});
  bool ran = false;
  Counts counts;
  const auto outcome = counted_client(counts).run("unique-key", {}, [&] { ran = true; });
  EXPECT_FALSE(outcome.ran);
  EXPECT_FALSE(ran);
  EXPECT_EQ(outcome.owner, "another server");
  EXPECT_EQ(counts.trips, 1u) << "it asks once, and does not wait";
}

TEST_P(Locker, a_blocking_run_waits_until_the_block_of_the_other_ends) {
  std::future<bool> other;
  const auto ran = client_.run("new-feed-checker", {}, [&] {
    other = std::async(std::launch::async,
                       [this] { return new_client().run("new-feed-checker", {.wait = forever}, [] {}).ran; });
    EXPECT_TRUE(await([&] { return waiting("new-feed-checker") == 1; }));
  });
  EXPECT_TRUE(ran);
  EXPECT_TRUE(other.get());
}

TEST_P(Locker, a_blocking_run_takes_over_from_a_server_that_dies) {
  PeerProcess server(database_->url());
  const std::string name = "host:.* pid:" + std::to_string(server.pid()) + " guid:.*";
  ASSERT_TRUE(server.ask("acquire new-feed-checker - 1000 0").starts_with("granted "));
  auto other = std::async(std::launch::async, [this] {
    return new_client().run("new-feed-checker", {.wait = forever}, [] {}).ran;
  });
  EXPECT_TRUE(await([&] {
    server.ask("renew new-feed-checker - 1000");  // as long as it lives
    return waiting("new-feed-checker") == 1 || other.wait_for(0s) == std::future_status::ready;
  }));
  server.kill();
  EXPECT_TRUE(other.get());
  const auto log = by_hand_.inspect("new-feed-checker").log;
  ASSERT_EQ(log.size(), 1u);
  EXPECT_EQ(log[0].event, "taken-over");
  EXPECT_THAT(log[0].owner, MatchesRegex(name));
}

TEST_P(Locker, two_servers_in_a_loop_take_turns_without_a_sleep) {
  std::mutex mutex;
  std::string turns;
  std::atomic<bool> one_has_ended = false;
  const auto server = [&](char name) {
    Client client = new_client();
    Admin looking(client);
    for (int turn = 0; turn < 4; ++turn) {
      client.run("new-feed-checker", {.wait = forever}, [&] {
        // The work takes as long as the other server needs to come back and ask.
        EXPECT_TRUE(
            await([&] { return one_has_ended || looking.inspect("new-feed-checker").places.size() == 1; }));
        const std::lock_guard lock(mutex);
        turns += name;
      });
    }
    one_has_ended = true;
  };
  std::thread one(server, 'a'), other(server, 'b');
  one.join();
  other.join();
  EXPECT_TRUE(turns == "abababab" || turns == "babababa") << turns;
}

TEST_P(Locker, is_got_renewed_and_released_by_hand) {
  Lease lease = client_.acquire("some-unique-key", {.keep = false});
  const Instant deadline = lease.deadline();
  lease.renew();
  EXPECT_GT(lease.deadline(), deadline);
  EXPECT_FALSE(is_free("some-unique-key"));
  EXPECT_EQ(lease.release(), Released::released);
  EXPECT_FALSE(lease.held());
  EXPECT_TRUE(is_free("some-unique-key"));
}

TEST_P(Locker, a_lease_of_less_than_ten_seconds_needs_no_interval) {
  EXPECT_TRUE(client_.try_acquire("lock_for: 10", {.ttl = 10s}));
  const Lease lease = short_lease(client_, "lock_for: 3", {.ttl = 3s});
  const Instant deadline = lease.deadline();
  EXPECT_TRUE(await([&] { return lease.deadline() > deadline; })) << "and is renewed";
}

TEST_P(Locker, a_holder_whose_lock_is_stolen_is_notified_in_the_running_code) {
  std::atomic<bool> robbed = false;
  std::promise<Loss> told;
  const auto work = [&](Lease& lease) {
    lease.on_lost([&](const Lost& lost) { told.set_value(lost.reason); });
    const Lease thief = rob("k");
    robbed = true;
    EXPECT_TRUE(await([&] { return lease.stop_token().stop_requested(); }));
    lease.check();
    ADD_FAILURE() << "the work went on";
  };
  try {
    client_that_renews_later(database_->new_client(), robbed)
        .run("k", {.owner = "me", .renew_every = 100ms}, work);
    ADD_FAILURE() << "and was taken for done";
  } catch (const LeaseLost& lost) {
    EXPECT_EQ(lost.reason(), Loss::stolen);
  }
  EXPECT_EQ(told.get_future().get(), Loss::stolen);
}

TEST_P(Locker, a_run_whose_code_never_checks_still_reports_a_stolen_lock) {
  Lease thief;
  const auto outcome = client_.try_run("k", {.owner = "me"}, [&] { thief = rob("k"); });
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().code, Errc::lost);
  EXPECT_EQ(outcome.error().loss, Loss::stolen);
  EXPECT_TRUE(thief.held()) << "nor does its end release what is another's";
}

TEST_P(Locker, renewing_by_hand_what_was_stolen_raises) {
  Lease lease = client_.acquire("k", {.owner = "me", .keep = false});
  const Lease thief = rob("k");
  try {
    lease.renew();
    ADD_FAILURE() << "renewed";
  } catch (const LeaseLost& lost) {
    EXPECT_EQ(lost.reason(), Loss::stolen);
  }
  EXPECT_FALSE(lease.held());
}

TEST_P(Locker, since_when_a_key_is_held_can_be_seen) {
  EXPECT_FALSE(client_.read("k").since) << "nobody has had it";
  const Moment before = wall_now();
  Lease lease = client_.acquire("k");
  const std::optional<Moment> since = client_.read("k").since;
  EXPECT_GE(since, before);
  EXPECT_LE(since, wall_now());
  lease.renew();
  EXPECT_EQ(client_.read("k").since, since) << "of the grant, not of the renewal";
  lease.release();
  const Lease next = client_.acquire("k");
  EXPECT_GT(client_.read("k").since, since);
}

TEST_P(Locker, the_block_is_given_a_number_that_rises_with_every_run) {
  Client other = new_client();
  Token last = no_token;
  for (int run = 0; run < 10; ++run) {
    Client& client = run % 2 == 0 ? client_ : other;
    client.run("k", {}, [&](Lease& lease) {
      EXPECT_GT(lease.token(), last);
      EXPECT_EQ(client.read("k").token, lease.token()) << "and is the store's";
      last = lease.token();
    });
  }
}

TEST_P(Locker, a_client_that_was_there_before_gets_a_key_whose_row_was_pruned) {
  client_.acquire("k").release();
  EXPECT_TRUE(await([&] { return by_hand_.purge({.free_for = 0ms}).keys == 1; }));
  EXPECT_TRUE(client_.try_acquire("k"));
}

TEST_P(Locker, a_holder_is_named_by_host_process_and_object) {
  const Lease one = client_.acquire("k"), other = client_.acquire("l");
  for (const Lease* lease : {&one, &other}) {
    EXPECT_THAT(std::string(lease->owner()),
                MatchesRegex("host:.* pid:" + std::to_string(getpid()) + " guid:[0-9a-f]+"));
    EXPECT_EQ(lease->owner().size() - lease->owner().find("guid:"), 5u + 32u);
  }
  EXPECT_NE(one.owner(), other.owner());
}

HOLDFAST_ON_STORES(Locker, kinds_named({"sqlite", "postgres"}));

}  // namespace
}  // namespace holdfast::test
