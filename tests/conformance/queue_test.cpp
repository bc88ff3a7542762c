// SPDX-License-Identifier: Apache-2.0
// Waiting in order, on every store.
#include "tests/conformance/suite.h"

namespace holdfast::test {
namespace {

class Queue : public Conformance {
 protected:
  std::vector<PlaceRow> places(std::string_view key) {
    return a_.list({.what = Query::What::places, .prefix = key, .exact = true}).places;
  }
  // As a client asks whose places are kept for a minute, or for three.
  static Reply wait_in_line(Caller& caller, std::string_view owner) {
    return caller.ask({.verb = Verb::acquire,
                       .key = {"k"},
                       .owner = {owner},
                       .ttl = 1h,
                       .place = 1min,
                       .longest_place = 3min});
  }
  // What its place is like once the store's clock has been set back by an hour.
  static void wait_in_line_and_set_the_clock_back(Caller& caller, std::string_view owner) {
    EXPECT_EQ(caller.acquire("k", owner, 1h, 1h + 1min).verdict, Verdict::busy);
  }
};

TEST_P(Queue, a_free_key_with_a_live_waiter_is_busy_for_everyone_else) {
  a_.acquire("k", "ann");
  EXPECT_EQ(b_.acquire("k", "bob", 1h, 1h).verdict, Verdict::busy);
  a_.release("k", "ann");
  const Reply barging = c_.acquire("k", "cat");
  EXPECT_EQ(barging.verdict, Verdict::busy);
  EXPECT_EQ(barging.owner, "");
  EXPECT_GT(barging.remaining, 0ms);
  EXPECT_EQ(a_.acquire("k", "ann").verdict, Verdict::busy);  // also for the owner that had it
  EXPECT_EQ(b_.acquire("k", "bob", 1h, 1h).verdict, Verdict::granted);
}

TEST_P(Queue, all_owners_of_a_client_share_its_place) {
  a_.acquire("k", "ann");
  b_.acquire("k", "bob", 1h, 1h);
  a_.release("k", "ann");
  EXPECT_EQ(b_.acquire("k", "bert", 1h, 1h).verdict, Verdict::granted);
}

TEST_P(Queue, waiters_are_served_in_the_order_they_came) {
  a_.acquire("k", "ann");
  EXPECT_EQ(b_.acquire("k", "bob", 1h, 1h).ahead, 0u);
  EXPECT_EQ(c_.acquire("k", "cat", 1h, 1h).ahead, 1u);
  EXPECT_EQ(b_.acquire("k", "bob", 1h, 1h).ahead, 0u);  // refreshing keeps the order
  a_.release("k", "ann");
  EXPECT_EQ(c_.acquire("k", "cat", 1h, 1h).verdict, Verdict::busy);
  EXPECT_EQ(b_.acquire("k", "bob", 1h, 1h).verdict, Verdict::granted);
  b_.release("k", "bob");
  EXPECT_EQ(c_.acquire("k", "cat", 1h, 1h).verdict, Verdict::granted);
  EXPECT_TRUE(places("k").empty());
}

TEST_P(Queue, a_grant_takes_the_place_away) {
  a_.acquire("k", "ann");
  b_.acquire("k", "bob", 1h, 1h);
  a_.release("k", "ann");
  b_.acquire("k", "bob", 1h, 1h);
  b_.release("k", "bob");
  EXPECT_EQ(c_.acquire("k", "cat").verdict, Verdict::granted);
}

TEST_P(Queue, a_place_runs_out) {
  a_.acquire("k", "ann");
  b_.acquire("k", "bob", 1h, 2ms);
  a_.release("k", "ann");
  let_pass(4ms);
  EXPECT_EQ(c_.acquire("k", "cat").verdict, Verdict::granted);
}

TEST_P(Queue, giving_up_leaves_at_once) {
  a_.acquire("k", "ann");
  b_.acquire("k", "bob", 1h, 1h);
  EXPECT_EQ(b_.leave("k", "bob").verdict, Verdict::lost);
  EXPECT_TRUE(places("k").empty());
  a_.release("k", "ann");
  EXPECT_EQ(c_.acquire("k", "cat").verdict, Verdict::granted);
}

TEST_P(Queue, a_plain_release_keeps_the_place_of_others_of_the_client) {
  b_.acquire("k", "bert");
  b_.acquire("k", "bob", 1h, 1h);
  b_.release("k", "bert");
  EXPECT_EQ(c_.acquire("k", "cat").verdict, Verdict::busy);
  EXPECT_EQ(b_.acquire("k", "bob", 1h, 1h).verdict, Verdict::granted);
}

TEST_P(Queue, the_holder_renews_and_acquires_again_while_others_wait) {
  a_.acquire("k", "ann");
  b_.acquire("k", "bob", 1h, 1h);
  EXPECT_EQ(a_.renew("k", "ann").verdict, Verdict::granted);
  EXPECT_EQ(a_.acquire("k", "ann").verdict, Verdict::granted);
}

TEST_P(Queue, a_holder_whose_lease_ran_out_does_not_overtake_the_waiters) {
  a_.acquire("k", "ann", 2ms);
  b_.acquire("k", "bob", 1h, 1h);
  let_pass(4ms);
  EXPECT_EQ(a_.acquire("k", "ann").verdict, Verdict::busy);
  EXPECT_EQ(b_.acquire("k", "bob", 1h, 1h).verdict, Verdict::granted);
}

TEST_P(Queue, an_acquire_without_a_place_does_not_join) {
  a_.acquire("k", "ann");
  EXPECT_EQ(b_.acquire("k", "bob").verdict, Verdict::busy);
  EXPECT_TRUE(places("k").empty());
}

TEST_P(Queue, queues_of_two_keys_are_apart) {
  a_.acquire("x", "ann");
  b_.acquire("x", "bob", 1h, 1h);
  EXPECT_EQ(c_.acquire("y", "cat").verdict, Verdict::granted);
}

TEST_P(Queue, a_place_written_before_the_clock_was_set_back_blocks_nobody) {
  a_.acquire("k", "ann");
  wait_in_line_and_set_the_clock_back(b_, "bob");
  EXPECT_EQ(wait_in_line(c_, "cat").verdict, Verdict::busy);
  EXPECT_EQ(places("k").size(), 2u);
  a_.release("k", "ann");
  EXPECT_EQ(c_.acquire("k", "cat").verdict, Verdict::busy);  // for a request without longest_place
  EXPECT_EQ(wait_in_line(c_, "cat").verdict, Verdict::granted);
  EXPECT_TRUE(places("k").empty());
}

TEST_P(Queue, a_waiter_that_refreshes_after_the_clock_was_set_back_keeps_its_order) {
  a_.acquire("k", "ann");
  wait_in_line_and_set_the_clock_back(b_, "bob");
  wait_in_line(c_, "cat");
  EXPECT_EQ(wait_in_line(b_, "bob").ahead, 0u);
  a_.release("k", "ann");
  EXPECT_EQ(wait_in_line(c_, "cat").verdict, Verdict::busy);
  EXPECT_EQ(wait_in_line(b_, "bob").verdict, Verdict::granted);
}

HOLDFAST_ON_EVERY_STORE_AND_SHEDLOCK(Queue);

}  // namespace
}  // namespace holdfast::test
