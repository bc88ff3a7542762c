// SPDX-License-Identifier: Apache-2.0
// Many at once: each request of a batch is answered for itself, on every store that keeps jobs.
#include "tests/engines/suite.h"

namespace holdfast::test {
namespace {

const std::vector<std::string> queues{"default"};

class Batch : public Engine {
 protected:
  std::vector<Claimed> claim(const std::vector<OwnerView>& owners) {
    std::vector<Claimed> claimed(owners.size());
    a_.engine()
        .finish_and_claim({}, {}, {.queues = queues, .owner = {}, .ttl = 1h}, owners, claimed, soon())
        .value();
    return claimed;
  }
};

TEST_P(Batch, jobs_are_enqueued_in_the_order_given_and_a_bad_one_harms_no_other) {
  const std::string too_long(100'000, 'k');
  const NewJob jobs[] = {{.name = "Job", .key = "first"},
                         {.name = "Job", .key = too_long},
                         {.name = "Job", .key = "first", .unique = Unique::loner},
                         {.name = "Job", .key = "first", .unique = Unique::loner},
                         {.name = "Job", .key = "last"}};
  EnqueueReply replies[std::size(jobs)];
  a_.engine().enqueue_all(jobs, replies, soon()).value();
  EXPECT_EQ(replies[0].what, EnqueueOutcome::enqueued);
  EXPECT_EQ(replies[2].what, EnqueueOutcome::enqueued);
  EXPECT_EQ(replies[3].what, EnqueueOutcome::duplicate);
  EXPECT_EQ(replies[3].id, replies[2].id);
  EXPECT_EQ(replies[4].what, EnqueueOutcome::enqueued);
  for (const std::size_t i : {0u, 2u, 3u, 4u}) EXPECT_FALSE(replies[i].error) << i;
  EXPECT_LT(replies[0].id, replies[2].id);
  EXPECT_LT(replies[2].id, replies[4].id);
  // Some stores have room for any key.
  const std::size_t there = replies[1].error ? 3 : 4;
  EXPECT_EQ(a_.list({}).size(), there);
}

TEST_P(Batch, claims_are_in_the_order_of_claiming_and_end_where_nothing_is_due) {
  const JobId later = a_.enqueue("a", {.priority = 1}).id, first = a_.enqueue("b").id;
  const auto claimed = claim({{"w1"}, {"w2"}, {"w3"}, {"w4"}});
  EXPECT_EQ(claimed[0].what, Got::running);
  EXPECT_EQ(claimed[0].job.id, first);
  EXPECT_EQ(claimed[0].job.owner, "w1");
  EXPECT_EQ(claimed[1].what, Got::running);
  EXPECT_EQ(claimed[1].job.id, later);
  EXPECT_EQ(claimed[1].job.owner, "w2");
  for (const std::size_t i : {2u, 3u}) {
    EXPECT_EQ(claimed[i].what, Got::nothing);
    EXPECT_GT(claimed[i].next, 0ms);
    EXPECT_FALSE(claimed[i].error);
  }
}

TEST_P(Batch, what_is_finished_comes_before_what_is_claimed) {
  a_.enqueue("k", {.on_conflict = OnConflict::wait});
  const JobId next = a_.enqueue("k", {.on_conflict = OnConflict::wait}).id;
  const auto first = claim({{"w1"}, {"w2"}});
  ASSERT_EQ(first[0].what, Got::running);
  ASSERT_EQ(first[1].what, Got::nothing) << "its lock is held";
  const Claimed stranger{.job = {.id = first[0].job.id, .owner = "somebody"}};
  const Finish ends[] = {done(stranger), done(first[0])};
  const OwnerView owners[] = {{"w3"}, {"w4"}};
  Finished finished[2];
  Claimed claimed[2];
  a_.engine()
      .finish_and_claim(ends, finished, {.queues = queues, .owner = {}, .ttl = 1h}, owners, claimed, soon())
      .value();
  EXPECT_FALSE(finished[0].finished);
  EXPECT_TRUE(finished[1].finished);
  EXPECT_TRUE(finished[1].released);
  EXPECT_EQ(claimed[0].what, Got::running);
  EXPECT_EQ(claimed[0].job.id, next);
  EXPECT_GT(claimed[0].job.token, first[0].job.token);
  EXPECT_EQ(claimed[1].what, Got::nothing);
}

TEST_P(Batch, claims_are_renewed_together_and_each_is_answered_for_itself) {
  for (const char* key : {"a", "b", "c", "d"}) a_.enqueue(key);
  const auto claimed = claim({{"w1"}, {"w2"}, {"w3"}, {"w4"}});
  ASSERT_EQ(claimed[3].what, Got::running);
  a_.finish(claimed[3]);
  const ClaimRef claims[] = {{claimed[0].job.id, {"w1"}, 2h},
                             {claimed[1].job.id, {"somebody"}, 2h},
                             {claimed[2].job.id, {"w3"}, 3h},
                             {claimed[3].job.id, {"w4"}, 2h},
                             {JobId{1'000'000}, {"w1"}, 2h}};
  ClaimReply replies[std::size(claims)];
  a_.engine().renew(claims, replies, soon()).value();
  const bool held[] = {true, false, true, false, false};
  for (std::size_t i = 0; i < std::size(claims); ++i) {
    EXPECT_FALSE(replies[i].error) << i;
    EXPECT_EQ(replies[i].held, held[i]) << i;
  }
  EXPECT_GT(a_.row(claimed[0].job.id).claim_remaining, 110min);
  EXPECT_LE(a_.row(claimed[1].job.id).claim_remaining, 1h);
  EXPECT_GT(a_.row(claimed[2].job.id).claim_remaining, 170min);
}

HOLDFAST_ON_STORES(Batch, job_kinds());

}  // namespace
}  // namespace holdfast::test
