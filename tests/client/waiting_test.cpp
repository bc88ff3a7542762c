// SPDX-License-Identifier: Apache-2.0
#include <future>
#include <latch>
#include <mutex>

#include "client/client_access.h"
#include "tests/client/suite.h"

namespace holdfast::test {
namespace {

class Wait : public ClientTest {
 protected:
  // One whose place in a queue would be seen for far longer than a test awaits that it is given up.
  Client patient_client() { return new_client({.place = 2min}); }
  // A client that does not lose its place when the machine pauses, and still polls the key now and then.
  Client steady_client() { return new_client({.place = 15s}); }
  // A waiter that leaves gives up its place at once or, if the store is slow, soon.
  bool await_no_place(std::string_view key) {
    return await([&] { return waiting(key) == 0; });
  }
  // How many threads of that client wait for `key`, including those that have sent nothing to the store.
  static bool await_at_gate(const Client& client, std::string_view key, std::size_t threads) {
    return await([&] { return ClientAccess::waiters(client, key) == threads; });
  }
};

TEST_P(Wait, a_waiter_gets_the_key_when_it_is_released) {
  Client a = new_client(), b = new_client();
  Lease lease = a.acquire("k");
  std::jthread waiter([&] { EXPECT_TRUE(b.try_acquire("k", {.wait = 30s})); });
  ASSERT_TRUE(await([&] { return waiting("k") == 1; }));
  lease.release();
  waiter.join();
  EXPECT_EQ(waiting("k"), 0u);
}

TEST_P(Wait, a_waiter_takes_over_what_runs_out) {
  Client a = new_client(), b = new_client();
  const Lease lease = short_lease(a, "k", {.ttl = 300ms, .keep = false});
  const Lease next = b.acquire("k", {.wait = 30s});
  EXPECT_FALSE(lease.held());
  EXPECT_GT(next.token(), lease.token());
}

TEST_P(Wait, waiting_ends_after_the_time_asked_for_and_leaves_the_queue) {
  Client a = new_client(), b = patient_client();
  const Lease lease = a.acquire("k");
  const auto result = b.try_acquire("k", {.wait = 50ms});
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, Errc::timeout);
  EXPECT_EQ(result.error().owner, lease.owner());
  EXPECT_TRUE(await_no_place("k"));
}

TEST_P(Wait, a_waiter_that_gives_up_does_not_wait_until_it_has_left_the_queue) {
  const Lease lease = observer_.acquire("k");
  std::atomic<bool> hears = false;
  Client client = chosen_client(
      [&](std::span<const Request> requests) {
        if (requests[0].verb == Verb::release) await([&] { return hears.load(); }, 1min);
        return Fault{};
      },
      {.place = 2min});
  auto code =
      std::async(std::launch::async, [&] { return client.try_acquire("k", {.wait = 50ms}).error().code; });
  EXPECT_EQ(code.wait_for(20s), std::future_status::ready);
  hears = true;
  EXPECT_EQ(code.get(), Errc::timeout);
  EXPECT_TRUE(await_no_place("k"));
}

TEST_P(Wait, a_place_that_was_to_be_given_up_stays_when_another_thread_has_come_to_wait) {
  const Lease lease = observer_.acquire("k");
  std::atomic<bool> hears = false;
  std::atomic<int> refused = 0, heard = 0;
  std::atomic<Millis> gave_up = 0ms;
  Client client = chosen_client(
      [&](std::span<const Request> requests) {
        if (requests[0].verb != Verb::release) return Fault{};
        if (!hears) {
          ++refused;
          return Fault{Fault::Kind::refuse_before};
        }
        gave_up = requests[0].place;
        ++heard;
        return Fault{};
      },
      {.place = 2min});
  EXPECT_EQ(client.try_acquire("k", {.wait = 50ms}).error().code, Errc::timeout);
  std::stop_source stop;
  std::jthread second(
      [&] { EXPECT_FALSE(client.try_acquire("k", {.wait = forever, .stop = stop.get_token()})); });
  ASSERT_TRUE(await_at_gate(client, "k", 1));
  const int before = refused;
  ASSERT_TRUE(await([&] { return refused >= before + 2; }));  // one may have been on its way already
  hears = true;
  EXPECT_TRUE(await([&] { return heard == 1; }));
  EXPECT_EQ(gave_up.load(), 0ms);
  EXPECT_EQ(waiting("k"), 1u);
  stop.request_stop();
}

TEST_P(Wait, a_stop_token_ends_the_wait_and_leaves_the_queue) {
  Client a = new_client(), b = patient_client();
  const Lease lease = a.acquire("k");
  std::stop_source stop;
  std::jthread waiter([&] {
    const auto result = b.try_acquire("k", {.wait = forever, .stop = stop.get_token()});
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().code, Errc::stopped);
  });
  ASSERT_TRUE(await([&] { return waiting("k") == 1; }));
  stop.request_stop();
  waiter.join();
  EXPECT_TRUE(await_no_place("k"));
}

TEST_P(Wait, clients_are_served_in_the_order_they_came) {
  Client owner = new_client();
  std::optional<Lease> lease = owner.acquire("k");
  std::mutex mutex;
  std::vector<int> order;
  std::vector<std::jthread> threads;
  for (int i = 0; i < 5; ++i) {
    threads.emplace_back([&, i] {
      Client client = steady_client();
      const Lease mine = client.acquire("k", {.wait = 60s});
      const std::lock_guard lock(mutex);
      order.push_back(i);
    });
    ASSERT_TRUE(await([&] { return waiting("k") == static_cast<std::size_t>(i) + 1; }));
  }
  lease.reset();
  threads.clear();
  EXPECT_EQ(order, (std::vector{0, 1, 2, 3, 4}));
}

TEST_P(Wait, a_dead_waiter_from_before_the_clock_was_set_back_holds_up_nobody) {
  Client a = new_client(), b = new_client();
  Lease lease = a.acquire("k");
  const auto store = database_->new_client();
  const auto dead = store->connect(BootClock::now() + 10s).value();
  // What its place is like once the store's clock has been set back by an hour.
  const Request place{.verb = Verb::acquire, .key = {"k"}, .owner = {"dead"}, .ttl = 1h, .place = 1h};
  Reply reply;
  ASSERT_TRUE(dead->apply({&place, 1}, {&reply, 1}, BootClock::now() + 10s));
  std::jthread waiter([&] { EXPECT_TRUE(b.try_acquire("k", {.wait = 30s})); });
  ASSERT_TRUE(await([&] { return waiting("k") == 2; }));
  lease.release();
}

TEST_P(Wait, threads_of_one_client_are_one_waiter_and_served_in_order) {
  Client a = new_client(), b = steady_client();
  std::optional<Lease> lease = a.acquire("k");
  std::mutex mutex;
  std::vector<int> order;
  std::vector<std::jthread> threads;
  for (int i = 0; i < 5; ++i) {
    threads.emplace_back([&, i] {
      const Lease mine = b.acquire("k", {.wait = 60s});
      const std::lock_guard lock(mutex);
      order.push_back(i);
    });
    ASSERT_TRUE(await_at_gate(b, "k", static_cast<std::size_t>(i) + 1));
    ASSERT_TRUE(await([&] { return waiting("k") == 1; }));
  }
  EXPECT_EQ(waiting("k"), 1u);
  lease.reset();
  threads.clear();
  EXPECT_EQ(order, (std::vector{0, 1, 2, 3, 4}));
  EXPECT_EQ(waiting("k"), 0u);
}

TEST_P(Wait, a_call_that_does_not_wait_does_not_overtake_a_waiter_of_the_same_process) {
  Client a = new_client(), b = new_client();
  Lease lease = a.acquire("k");
  std::latch got(1), done(1);
  std::jthread waiter([&] {
    const Lease mine = b.acquire("k", {.wait = 60s});
    got.count_down();
    done.wait();
  });
  ASSERT_TRUE(await([&] { return waiting("k") == 1; }));
  EXPECT_EQ(b.try_acquire("k").error().code, Errc::busy);
  EXPECT_EQ(b.try_acquire("k", {.attempts = 2, .interval = 1ms}).error().code, Errc::exhausted);
  lease.release();
  got.wait();
  EXPECT_EQ(b.try_acquire("k").error().code, Errc::busy);
  done.count_down();
}

TEST_P(Wait, the_place_stays_when_the_first_of_several_threads_gives_up) {
  Client a = new_client(), b = steady_client();
  std::optional<Lease> lease = a.acquire("k");
  std::stop_source stop;
  std::jthread first([&] { EXPECT_FALSE(b.try_acquire("k", {.wait = forever, .stop = stop.get_token()})); });
  ASSERT_TRUE(await([&] { return waiting("k") == 1; }));
  std::jthread second([&] { EXPECT_TRUE(b.try_acquire("k", {.wait = 60s})); });
  ASSERT_TRUE(await_at_gate(b, "k", 2));
  stop.request_stop();
  first.join();
  EXPECT_EQ(waiting("k"), 1u);
  lease.reset();
  second.join();
}

TEST_P(Wait, when_all_threads_of_a_client_give_up_no_place_is_left) {
  Client a = new_client(), b = patient_client();
  const Lease lease = a.acquire("k");
  for (int round = 0; round < 5; ++round) {
    std::stop_source stop;
    std::vector<std::jthread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back(
          [&] { EXPECT_FALSE(b.try_acquire("k", {.wait = forever, .stop = stop.get_token()})); });
    }
    ASSERT_TRUE(await([&] { return waiting("k") == 1; }));
    stop.request_stop();  // all at once: the last one to leave gives up the place
    threads.clear();
    ASSERT_TRUE(await_no_place("k"));
  }
}

TEST_P(Wait, a_thread_behind_another_of_its_client_gives_up_in_its_own_time) {
  Client a = new_client(), b = steady_client();
  const Lease lease = a.acquire("k");
  std::atomic<bool> over = false;
  std::jthread first(
      [&](const std::stop_token& stop) { (void)b.try_acquire("k", {.wait = 10min, .stop = stop}); });
  ASSERT_TRUE(await([&] { return waiting("k") == 1; }));
  std::jthread second([&] {
    EXPECT_EQ(b.try_acquire("k", {.wait = 50ms}).error().code, Errc::timeout);
    over = true;
  });
  EXPECT_TRUE(await([&] { return over.load(); }));
  first.request_stop();
}

TEST_P(Wait, a_thread_behind_another_of_its_client_is_stopped_alone) {
  Client a = new_client(), b = steady_client();
  const Lease lease = a.acquire("k");
  const auto wait = [&](const std::stop_token& stop) {
    EXPECT_EQ(b.try_acquire("k", {.wait = 10min, .stop = stop}).error().code, Errc::stopped);
  };
  std::jthread first(wait);
  ASSERT_TRUE(await([&] { return waiting("k") == 1; }));
  std::jthread second(wait);
  EXPECT_TRUE(await_at_gate(b, "k", 2));
  second.request_stop();
  EXPECT_TRUE(await_at_gate(b, "k", 1));
  EXPECT_EQ(waiting("k"), 1u);
  first.request_stop();
}

TEST_P(Wait, a_call_that_does_not_wait_leaves_a_free_key_to_a_waiter_of_the_same_process) {
  std::atomic<bool> apart = false;  // the waiter does not reach the store
  Client a = new_client();
  Client b = chosen_client(
      [&](std::span<const Request> requests) {
        const bool waits = requests[0].owner.text == "waiter";
        return Fault{apart && waits ? Fault::Kind::refuse_before : Fault::Kind::none};
      },
      {.place = 10min});
  Lease lease = a.acquire("k");
  std::jthread waiter([&] { EXPECT_TRUE(b.try_acquire("k", {.wait = 60s, .owner = "waiter"})); });
  ASSERT_TRUE(await([&] { return waiting("k") == 1; }));
  apart = true;
  lease.release();
  const auto hasty = b.try_acquire("k");
  ASSERT_FALSE(hasty);
  EXPECT_EQ(hasty.error().code, Errc::busy);
  apart = false;
}

TEST_P(Wait, a_limit_of_attempts_counts_acquires_sent) {
  Client a = new_client();
  const Lease lease = a.acquire("k");
  Counts counts;
  Client b = counted_client(counts);
  std::vector<int> asked;
  const auto result = b.try_acquire("k", {.attempts = 4, .interval = [&](int n) {
                                            asked.push_back(n);
                                            return Millis(n);
                                          }});
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, Errc::exhausted);
  EXPECT_EQ(counts.trips, 4u);
  EXPECT_EQ(asked, (std::vector{1, 2, 3}));  // no sleep after the last
}

TEST_P(Wait, a_schedule_ends_with_the_wait_too) {
  Client a = new_client(), b = new_client();
  const Lease lease = a.acquire("k");
  EXPECT_EQ(b.try_acquire("k", {.wait = 20ms, .interval = 5ms}).error().code, Errc::timeout);
}

TEST_P(Wait, the_number_of_attempts_is_reported) {
  Client a = new_client();
  Lease other = a.acquire("k");
  Counts counts;
  Client b = counted_client(counts);
  std::jthread releasing([&] {
    EXPECT_TRUE(await([&] { return counts.requests >= 2; }));
    other.release();
  });
  EXPECT_GE(b.acquire("k", {.attempts = 10'000, .interval = 5ms}).attempts(), 2);
}

TEST_P(Wait, unfair_waiters_keep_no_place_but_get_it_in_the_end) {
  Client a = new_client(), b = new_client();
  Lease lease = a.acquire("k");
  std::jthread waiter([&] { EXPECT_TRUE(b.try_acquire("k", {.wait = 60s, .fair = false})); });
  let_pass(20ms);
  EXPECT_EQ(waiting("k"), 0u);
  lease.release();
}

TEST_P(Wait, eight_threads_of_four_clients_share_a_counter) {
  // Without notifications a turn begins with the next poll, and nobody uses the CPU until then.
  const int turns = GetParam().listener ? 20 : 8;
  std::atomic<int> counter = 0;  // read and written apart: an overlap would lose an update
  std::vector<std::jthread> threads;
  std::vector<Client> clients;
  for (int i = 0; i < 4; ++i) clients.push_back(new_client());
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&, i] {
      for (int n = 0; n < turns; ++n) {
        const Lease lease = clients[static_cast<std::size_t>(i) % 4].acquire("k", {.wait = 60s});
        const int seen = counter.load();
        std::this_thread::yield();
        counter.store(seen + 1);
      }
    });
  }
  threads.clear();
  EXPECT_EQ(counter, 8 * turns);
  EXPECT_EQ(waiting("k"), 0u);
}

// A wake-up that is missed costs a third of a place.
TEST_P(Wait, two_clients_that_take_turns_never_wait_while_the_key_is_free) {
  constexpr Millis place = 60s, far_too_long = place / 6;
  const int turns = GetParam().listener ? 150 : 8;
  std::atomic<bool> missed = false;
  std::atomic<int> taken = 0;
  std::vector<std::jthread> threads;
  for (int t = 0; t < 2; ++t) {
    threads.emplace_back([&] {
      Client client = new_client({.place = place});
      for (int i = 0; i < turns && !missed; ++i) {
        const Instant asked = BootClock::now();
        auto lease = client.try_acquire("k", {.ttl = 5min, .wait = 5min});
        ASSERT_TRUE(lease) << lease.error().detail;
        if (BootClock::now() - asked > far_too_long) missed = true;
        ++taken;
        ASSERT_TRUE(lease->try_release());
      }
    });
  }
  threads.clear();
  EXPECT_FALSE(missed) << "after " << taken << " turns";
}

HOLDFAST_ON_EVERY_STORE(Wait);

}  // namespace
}  // namespace holdfast::test
