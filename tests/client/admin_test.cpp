// SPDX-License-Identifier: Apache-2.0
// What people do by hand, through the library, on every store.
#include <future>

#include "tests/client/suite.h"

namespace holdfast::test {
namespace {

using namespace std::chrono_literals;

class ByHand : public ClientTest {
 protected:
  static bool mentions(const std::string& text, std::string_view word) {
    return text.find(word) != std::string::npos;
  }
  Client client_ = new_client();
};

TEST_P(ByHand, inspecting_shows_holder_queue_and_log) {
  const Lease lease = client_.acquire("k", {.ttl = 1h, .owner = "ann", .note = "the nightly one"});
  std::jthread waiter(
      [&] { (void)new_client({.place = 2min}).try_acquire("k", {.wait = 20s, .owner = "bob"}); });
  ASSERT_TRUE(await([&] { return waiting("k") == 1; }));
  Inspection found = by_hand_.inspect("k");
  EXPECT_EQ(found.lease.owner, "ann");
  EXPECT_EQ(found.lease.token, lease.token());
  EXPECT_EQ(found.lease.note, "the nightly one");
  EXPECT_GT(found.lease.remaining, 59min);
  ASSERT_EQ(found.places.size(), 1u);
  EXPECT_EQ(found.places[0].owner, "bob");
  EXPECT_TRUE(found.log.empty());

  EXPECT_EQ(by_hand_.break_lease("k", lease.token(), {.by = "olga", .reason = "stuck"}), "ann");
  found = by_hand_.inspect("k");
  ASSERT_EQ(found.log.size(), 1u);
  EXPECT_EQ(found.log[0].event, "broken");
  EXPECT_EQ(found.log[0].owner, "ann");
  EXPECT_EQ(found.log[0].by, "olga");
  EXPECT_EQ(found.log[0].reason, "stuck");
}

TEST_P(ByHand, a_key_that_was_never_granted_is_free_and_has_no_token) {
  const Inspection found = by_hand_.inspect("k");
  EXPECT_EQ(found.lease.key, "k");
  EXPECT_EQ(found.lease.token, no_token);
  EXPECT_EQ(found.lease.remaining, 0ms);
}

TEST_P(ByHand, breaking_takes_the_token_that_holds_and_nothing_else) {
  const Lease lease = client_.acquire("k", {.ttl = 1h, .owner = "ann"});
  const Token older{to_number(lease.token()) - 1};
  const auto wrong = by_hand_.try_break_lease("k", older, {.by = "olga", .reason = "stuck"});
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().code, Errc::lost);
  EXPECT_TRUE(mentions(wrong.error().detail, "ann")) << wrong.error().detail;
  EXPECT_TRUE(mentions(wrong.error().detail, std::to_string(to_number(lease.token()))))
      << wrong.error().detail;
  EXPECT_EQ(by_hand_.inspect("k").lease.owner, "ann");
  EXPECT_TRUE(by_hand_.inspect("k").log.empty());
  const auto nobody = by_hand_.try_break_lease("l", older, {.by = "olga", .reason = "stuck"});
  EXPECT_EQ(nobody.error().code, Errc::lost);
}

TEST_P(ByHand, breaking_wants_a_token_a_name_and_a_reason) {
  const Lease lease = client_.acquire("k");
  for (const Break& why : {Break{"", "stuck"}, Break{"olga", ""}, Break{"olga", "\xff"}}) {
    EXPECT_EQ(by_hand_.try_break_lease("k", lease.token(), why).error().code, Errc::invalid);
  }
  EXPECT_EQ(by_hand_.try_break_lease("k", no_token, {"olga", "stuck"}).error().code, Errc::invalid);
  EXPECT_EQ(by_hand_.try_break_lease("", lease.token(), {"olga", "stuck"}).error().code, Errc::invalid);
  EXPECT_TRUE(lease.held());
  EXPECT_FALSE(is_free("k"));
}

TEST_P(ByHand, a_release_of_a_broken_lease_says_who_broke_it_and_why) {
  Lease lease = client_.acquire("k", {.ttl = 1h});
  by_hand_.break_lease("k", lease.token(), {.by = "olga", .reason = "stuck"});
  EXPECT_EQ(lease.release(), Released::broken);
  EXPECT_EQ(lease.lost().reason, Loss::broken);
  EXPECT_EQ(lease.lost().detail, "broken by olga: stuck");
}

TEST_P(ByHand, a_renewal_of_a_broken_lease_says_who_broke_it_and_why) {
  Lease lease = client_.acquire("k", {.ttl = 1h});
  by_hand_.break_lease("k", lease.token(), {.by = "olga", .reason = "stuck"});
  const Status renewed = lease.try_renew();
  ASSERT_FALSE(renewed);
  EXPECT_EQ(renewed.error().loss, Loss::broken);
  EXPECT_TRUE(mentions(renewed.error().detail, "broken by olga: stuck")) << renewed.error().detail;
}

TEST_P(ByHand, a_renewal_by_owner_name_says_who_broke_the_lease_and_why) {
  const Lease lease = client_.acquire("k", {.ttl = 1h, .owner = "ann", .detached = true});
  by_hand_.break_lease("k", lease.token(), {.by = "olga", .reason = "stuck"});
  const auto renewed = client_.try_renew("k", {"ann"}, 1h);
  ASSERT_FALSE(renewed);
  EXPECT_EQ(renewed.error().loss, Loss::broken);
  EXPECT_TRUE(mentions(renewed.error().detail, "broken by olga: stuck")) << renewed.error().detail;
  EXPECT_EQ(client_.release("k", {"ann"}), Released::broken);
  // An owner that never had it gets another answer.
  EXPECT_EQ(client_.try_renew("k", {"bob"}, 1h).error().loss, Loss::gone);
  EXPECT_EQ(client_.release("k", {"bob"}), Released::already_released);
}

TEST_P(ByHand, work_whose_lease_was_broken_is_no_success_and_says_why) {
  const auto result = client_.try_run("k", {.ttl = 1h}, [&](Lease& lease) {
    by_hand_.break_lease("k", lease.token(), {.by = "olga", .reason = "stuck"});
  });
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, Errc::lost);
  EXPECT_EQ(result.error().loss, Loss::broken);
  EXPECT_TRUE(mentions(result.error().detail, "broken by olga: stuck")) << result.error().detail;
}

TEST_P(ByHand, a_lease_that_was_taken_over_says_by_whom_at_its_release) {
  Lease lease = client_.acquire("k", {.ttl = 1h, .owner = "ann"});
  observer_.release("k", {"ann"});  // behind its back
  const Lease thief = observer_.acquire("k", {.owner = "bob"});
  EXPECT_EQ(lease.release(), Released::stolen);
  EXPECT_EQ(lease.lost().reason, Loss::stolen);
  EXPECT_TRUE(mentions(lease.lost().detail, "bob")) << lease.lost().detail;
}

TEST_P(ByHand, an_orderly_release_is_no_loss) {
  Lease lease = client_.acquire("k");
  EXPECT_EQ(lease.release(), Released::released);
  EXPECT_EQ(lease.lost().reason, Loss::none);
}

TEST_P(ByHand, waiting_ends_when_the_holder_releases_and_takes_nothing) {
  Lease lease = client_.acquire("k", {.ttl = 1h});
  auto free = std::async(std::launch::async, [&] { return Admin(new_client()).try_wait_until_free("k"); });
  EXPECT_EQ(waiting("k"), 0u) << "it keeps no place";
  lease.release();
  EXPECT_TRUE(free.get());
  EXPECT_TRUE(client_.try_acquire("k"));
}

TEST_P(ByHand, waiting_ends_when_the_lease_runs_out) {
  const Lease lease = short_lease(client_, "k", {.ttl = 300ms, .keep = false});
  EXPECT_TRUE(by_hand_.try_wait_until_free("k", {.wait = 20s}));
  EXPECT_TRUE(is_free("k"));
}

TEST_P(ByHand, waiting_for_a_free_key_returns_at_once_and_for_a_held_one_in_time) {
  EXPECT_TRUE(by_hand_.try_wait_until_free("k", {.wait = 0ms}));
  const Lease lease = client_.acquire("k", {.ttl = 1h, .owner = "ann"});
  for (const Millis wait : {0ms, 30ms}) {
    Status timeout = Status{};
    ASSERT_TRUE(await([&] {  // a query without an answer in time does not count
      timeout = by_hand_.try_wait_until_free("k", {.wait = wait});
      return timeout || timeout.error().code == Errc::timeout;
    }));
    ASSERT_FALSE(timeout);
    EXPECT_EQ(timeout.error().owner, "ann");
    EXPECT_GT(timeout.error().remaining, 59min);
  }
}

TEST_P(ByHand, a_wait_can_be_stopped) {
  const Lease lease = client_.acquire("k", {.ttl = 1h});
  std::stop_source stop;
  auto free = std::async(std::launch::async, [&, token = stop.get_token()] {
    return Admin(new_client()).try_wait_until_free("k", {.stop = token});
  });
  stop.request_stop();
  EXPECT_EQ(free.get().error().code, Errc::stopped);
}

TEST_P(ByHand, purging_counts_what_it_takes_away) {
  client_.acquire("k").release();
  ASSERT_EQ(by_hand_.list().leases.size(), 1u);
  EXPECT_EQ(by_hand_.purge().keys, 0u) << "not free for a day yet";
  let_pass(1ms);
  EXPECT_EQ(by_hand_.purge({.free_for = 0ms}).keys, 1u);
  EXPECT_TRUE(by_hand_.list().leases.empty());
  EXPECT_EQ(by_hand_.try_purge({.free_for = -1ms}).error().code, Errc::invalid);
}

HOLDFAST_ON_EVERY_STORE(ByHand);

}  // namespace
}  // namespace holdfast::test
