// SPDX-License-Identifier: Apache-2.0
// What Darwin's Locker promises, in our words: docs/parity.md.  Its table:
// tests/mariadb/darwin_client_test.cpp.
#include <thread>

#include "base/time.h"
#include "tests/client/suite.h"

namespace holdfast::test {
namespace {

class Darwin : public ClientTest {
 protected:
  static auto in(Millis from_now) { return wall_now() + from_now; }

  Client client_ = new_client();
};

TEST_P(Darwin, a_process_that_is_locked_says_by_whom_and_until_when) {
  const Lease other = client_.acquire("myProcess", {.ttl = 30min, .owner = "node-1"});
  const auto refused = client_.try_acquire("myProcess");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().owner, "node-1");
  EXPECT_GT(refused.error().remaining, 20min);
  EXPECT_LE(refused.error().remaining, 30min);
}

TEST_P(Darwin, a_lease_is_renewed_page_by_page_and_a_page_after_its_loss_is_not_begun) {
  Lease lease = client_.acquire("myProcess", {.ttl = time_until(in(10min)), .keep = false});
  int pages = 0;
  const auto work = [&] {
    while (true) {
      if (++pages == 3) observer_.release("myProcess", {lease.owner()});  // as if it had run out
      lease.renew(time_until(in(Millis(10min) * (pages + 1))));
      EXPECT_GT(client_.read("myProcess").remaining, Millis(10min) * (pages + 1) - 1min);
    }
  };
  EXPECT_THROW(work(), LeaseLost);
  EXPECT_EQ(pages, 3);
  EXPECT_FALSE(lease.held());
}

TEST_P(Darwin, the_unlock_key_renews_and_releases_and_another_does_not) {
  const std::string key(
      client_.acquire("myProcess", {.ttl = 10min, .detached = true}).owner());  // all that is kept of it
  EXPECT_EQ(observer_.try_renew("myProcess", {"another key"}, 30min).error().code, Errc::lost);
  EXPECT_EQ(observer_.release("myProcess", {"another key"}), Released::never_held);
  EXPECT_GT(observer_.renew("myProcess", {key}, time_until(in(30min))), 29min);
  EXPECT_EQ(observer_.release("myProcess", {key}), Released::released);
  EXPECT_EQ(observer_.release("myProcess", {key}), Released::already_released);
  EXPECT_TRUE(client_.available("myProcess"));
}

TEST_P(Darwin, nobody_renews_what_has_run_out_nor_releases_it_with_another_key) {
  Lease lease = short_lease(client_, "myProcess", {.ttl = 300ms, .owner = "mine", .keep = false});
  ASSERT_TRUE(await([&] { return is_free("myProcess"); }));
  EXPECT_EQ(client_.try_renew("myProcess", {"mine"}, 30min).error().code, Errc::lost);
  EXPECT_TRUE(client_.available("myProcess"));
  EXPECT_EQ(client_.release("myProcess", {"another key"}), Released::never_held);
  EXPECT_EQ(release_of_lost(lease), Released::expired);
}

// There `until` is computed before the wait, and a long wait leaves nothing of the lease.
TEST_P(Darwin, waiting_does_not_eat_the_lease) {
  EXPECT_TRUE(await([&] {
    const auto until = in(1s);
    const Lease other = short_lease(client_, "myProcess", {.ttl = 1100ms, .keep = false});
    const auto lease =
        client_.try_acquire("myProcess", {.ttl = time_until(until), .wait = 30s, .keep = false});
    const bool held = lease && lease->held();
    EXPECT_FALSE(held && other.held());
    return held;  // else we were paused for as long as it is
  })) << "it waited longer than its own lease is long";
}

// There a rival stole it: from the second time on it was renewed at the very moment at which it ended.
TEST_P(Darwin, a_lease_with_finished_is_kept_from_a_rival_that_polls) {
  std::atomic<int> asked = 0;
  const auto finished = [&] {
    ++asked;
    return false;
  };
  Client rival = new_client();
  bool paused = true;  // the machine, or its database, for so long that a renewal may have come too late
  for (int round = 0; paused && round < 10; ++round) {
    asked = 0;
    const Lease lease =
        short_lease(client_, "myProcess", {.ttl = 2s, .max_renewals = 3, .finished = finished});
    Instant last = BootClock::now();
    paused = false;
    ASSERT_TRUE(await([&] {
      const bool got = rival.try_acquire("myProcess").has_value();
      paused |= BootClock::now() - std::exchange(last, BootClock::now()) > 100ms;
      return got;
    }));
    EXPECT_FALSE(lease.held());
    paused &= asked != 3;
  }
  EXPECT_EQ(asked, 3) << "nobody else had it before the last renewal was over";
}

TEST_P(Darwin, it_is_extended_ten_times_and_then_reported_as_run_out) {
  std::atomic<bool> counting = false;
  std::atomic<int> asked = 0, extended = 0;
  Lease lease = short_lease(client_, "myProcess", {.ttl = 3s, .renew_every = 20ms, .finished = [&] {
                                                     await([&] { return counting.load(); });
                                                     ++asked;
                                                     return false;
                                                   }});
  lease.on_renewed([&](Instant) { ++extended; });
  counting = true;
  ASSERT_TRUE(await([&] { return lease.stop_token().stop_requested(); }));
  EXPECT_EQ(extended, 10);
  EXPECT_GE(asked, 10) << "and once more for each that did not get through";
  EXPECT_EQ(lease.lost().reason, Loss::unreachable);
}

TEST_P(Darwin, finished_is_not_called_after_the_release) {
  std::atomic<int> asked = 0, others = 0;
  Lease lease = client_.acquire("myProcess", {.ttl = 10min, .renew_every = 10ms, .finished = [&] {
                                                ++asked;
                                                return false;
                                              }});
  ASSERT_TRUE(await([&] { return asked >= 2; }));
  lease.release();
  const int until_then = asked;
  const Lease other = client_.acquire("otherProcess", {.ttl = 10min, .renew_every = 10ms, .finished = [&] {
                                                         ++others;
                                                         return false;
                                                       }});
  ASSERT_TRUE(await([&] { return others >= 3; })) << "as often as it would have been";
  EXPECT_EQ(asked, until_then);
}

TEST_P(Darwin, tries_and_the_pause_between_are_said_once_for_all_processes) {
  const Lease other = observer_.acquire("myProcess");
  std::vector<int> pauses;
  Client locker = new_client({.defaults = {.attempts = 20, .interval = [&](int attempt) {
                                             pauses.push_back(attempt);
                                             return Millis(1);
                                           }}});
  EXPECT_EQ(locker.try_acquire("myProcess").error().code, Errc::exhausted);
  EXPECT_EQ(pauses.size(), 19u) << "none after the last";
}

HOLDFAST_ON_STORES(Darwin, darwin_kinds());

}  // namespace
}  // namespace holdfast::test
