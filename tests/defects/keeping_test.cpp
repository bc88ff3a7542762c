// SPDX-License-Identifier: Apache-2.0
// Defects 1, 2, 15 and 16 of the ancestors (reference/ancestors.md 8), as: there X happens, here Y.  They are
// about renewing a lease while the work goes on.
#include <future>

#include "tests/defects/suite.h"

namespace holdfast::test {
namespace {

class KeepingDefects : public AsTheAncestors {};

// A door at the store that is shut until somebody opens it, at the latest when this goes.
class Door {
 public:
  ~Door() { open(); }
  void open() {
    if (!std::exchange(is_open_, true)) opened_.set_value();
  }
  void pass() {
    ++stuck_;
    may_pass_.wait();
  }
  bool stuck() const { return stuck_ > 0; }

 private:
  std::promise<void> opened_;
  const std::shared_future<void> may_pass_ = opened_.get_future().share();
  std::atomic<int> stuck_ = 0;
  bool is_open_ = false;
};

// 1. locker: the renewer's thread ended with the first database error, the lease lapsed under the running
// block, and run returned true.
TEST_P(KeepingDefects, there_a_renewer_that_fails_is_not_missed_here_run_says_that_the_lease_was_lost) {
  Trouble trouble;
  Client client = troubled_client(trouble);
  bool ran = false;
  std::optional<Error> told;
  ASSERT_TRUE(await([&] {
    const auto result = client.try_run("k", {.ttl = 300ms}, [&](Lease& lease) {
      ran = true;
      trouble.set(Fault::Kind::refuse_before);
      EXPECT_TRUE(await([&] { return lease.stop_token().stop_requested(); }));
      EXPECT_THROW(lease.check(), LeaseLost);
    });
    if (!result) told = result.error();
    return ran;
  }));
  trouble.end();
  ASSERT_TRUE(told) << "as if all had gone well";
  EXPECT_EQ(told->code, Errc::lost);
  EXPECT_EQ(told->loss, Loss::unreachable);
}

// 1. locker: with a pool of one connection, which the block had, no renewal ever came through.
TEST_P(KeepingDefects, there_a_pool_of_one_starves_the_renewer_here_it_has_a_connection_of_its_own) {
  Door door;
  Client client = chosen_client([&](std::span<const Request> requests) {
    if (requests[0].key.text == "slow") door.pass();
    return Fault{};
  });
  const Lease lease = client.acquire("k", {.ttl = 1h, .renew_every = 20ms});
  std::jthread caller([&] { (void)client.try_acquire("slow"); });
  EXPECT_TRUE(await([&] { return door.stuck(); }));
  const Instant deadline = lease.deadline();
  EXPECT_TRUE(await([&] { return lease.deadline() > deadline; }));
  door.open();
}

// 2. Darwin: the first renewal came at 70 % of the lease and each later one at 100 %, and a rival that kept
// asking had the lease at 8.3 s.
TEST_P(KeepingDefects, there_the_second_renewal_comes_at_the_very_end_here_well_before) {
  constexpr Millis ttl = 900ms;
  std::mutex mutex;
  int in_a_row = 0;  // renewals that left at least a third of the lease
  Instant last{};
  Client client = chosen_client([&](std::span<const Request> requests) {
    const std::lock_guard lock(mutex);
    const Instant now = BootClock::now();
    const bool early = requests[0].verb == Verb::renew && now - last < ttl * 2 / 3;
    in_a_row = early ? in_a_row + 1 : 0;
    last = now;
    return Fault{};
  });
  Client rival = new_client();
  Lease lease = short_lease(client, "k", {.ttl = ttl});
  EXPECT_TRUE(await([&] {
    EXPECT_FALSE(rival.try_acquire("k") && lease.held());
    if (!lease.held()) lease = short_lease(client, "k", {.ttl = ttl});  // we were paused for so long
    const std::lock_guard lock(mutex);
    return in_a_row >= 2;
  }));
}

// 15. Darwin: with DEBUG logging on, what wrote the log threw after the row was inserted, and the lock
// leaked.
TEST_P(KeepingDefects, there_a_log_that_fails_leaks_the_lock_here_it_changes_nothing) {
  Trouble trouble;
  std::atomic<int> told = 0;
  Client client = troubled_client(trouble, {.log = [&](std::string_view) {
                                    ++told;
                                    throw std::runtime_error("no disk to write the log on");
                                  }});
  const int warned = told;
  Lease lease = client.acquire("k", {.ttl = 1h, .renew_every = 10ms});
  trouble.set(Fault::Kind::lose_after);
  EXPECT_TRUE(await([&] { return told > warned; })) << "that it cannot be renewed";
  const int before = told;
  EXPECT_EQ(client.try_acquire("l", {.ttl = 1h, .wait = 50ms}).error().code, Errc::in_doubt);
  EXPECT_GT(told, before) << "that it cannot be acquired";
  trouble.end();
  const Instant deadline = lease.deadline();
  EXPECT_TRUE(await([&] { return lease.deadline() > deadline; })) << "it is still renewed";
  EXPECT_EQ(lease.release(), Released::released);
  EXPECT_TRUE(await([&] { return is_free("k") && is_free("l") && waiting("l") == 0; }));
}

// 16. locker's Advisory: the thread that checks the connection and the end of the block waited for each
// other, so that a block of more than 5 s, the interval of that check, never ended.
TEST_P(KeepingDefects, there_work_hangs_at_its_end_behind_a_check_here_it_ends_while_a_renewal_is_out) {
  Door door;
  Client client = chosen_client([&](std::span<const Request> requests) {
    if (requests[0].verb == Verb::renew) door.pass();
    return Fault{};
  });
  auto end = std::async(std::launch::async, [&] {
    return client.try_run("k", {.ttl = 1h, .renew_every = 10ms},
                          [&] { EXPECT_TRUE(await([&] { return door.stuck(); })); });
  });
  EXPECT_EQ(end.wait_for(20s), std::future_status::ready);
  door.open();
  EXPECT_TRUE(end.get());
  EXPECT_TRUE(is_free("k"));
}

HOLDFAST_ON_EVERY_STORE(KeepingDefects);

}  // namespace
}  // namespace holdfast::test
