// SPDX-License-Identifier: Apache-2.0
#include "tests/client/suite.h"

namespace holdfast::test {
namespace {

class Run : public ClientTest {};

TEST_P(Run, says_whether_it_ran_and_what_it_returned) {
  Client a = new_client(), b = new_client();
  const auto ran = a.run("k", {}, [&](Lease& lease) {
    EXPECT_TRUE(lease.held());
    const auto other = b.run("k", {}, [] { return 1; });
    EXPECT_FALSE(other);
    EXPECT_EQ(other.owner, lease.owner());
    EXPECT_FALSE(a.run("k", {}, [] { ADD_FAILURE() << "inside of a run of its own client"; }));
    EXPECT_TRUE(lease.held());
    return 42;
  });
  ASSERT_TRUE(ran);
  EXPECT_EQ(ran.value, 42);
  EXPECT_TRUE(is_free("k"));
  EXPECT_TRUE(a.run("k", {}, [] {}));
}

TEST_P(Run, an_exception_releases_and_passes_on) {
  Client client = new_client();
  EXPECT_THROW(client.run("k", {}, []() -> int { throw std::logic_error("mine"); }), std::logic_error);
  EXPECT_TRUE(is_free("k"));
}

TEST_P(Run, never_reports_success_for_work_that_ended_after_the_loss) {
  Client client = new_client();
  const AcquireOptions brief{.ttl = 600ms, .wait = 20s, .keep = false};
  bool began = false, lost = false;
  const auto outlive = [&](Lease& lease) {
    began = true;
    EXPECT_TRUE(await([&] { return !lease.held(); }));
  };
  // So short a lease may come too late, and nothing runs: then again.
  EXPECT_TRUE(await([&] {
    try {
      client.run("k", brief, outlive);
    } catch (const LeaseLost&) {
      lost = true;
    } catch (const Failure&) {
    }
    return began;
  }));
  EXPECT_TRUE(lost);
  began = false;
  Error told;
  EXPECT_TRUE(await([&] {
    const auto result = client.try_run("l", brief, outlive);
    if (!result) told = result.error();
    return began;
  }));
  EXPECT_EQ(told.code, Errc::lost);
  EXPECT_EQ(told.loss, Loss::unreachable);
}

TEST_P(Run, notices_at_the_end_what_happened_behind_its_back) {
  Client client = new_client();
  const auto result = client.try_run("k", {.owner = "me"}, [&] { observer_.release("k", {"me"}); });
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, Errc::lost);
}

TEST_P(Run, a_function_may_release_early) {
  Client client = new_client();
  EXPECT_TRUE(client.try_run("k", {}, [](Lease& lease) { lease.release(); }));
}

class Lead : public ClientTest {};

TEST_P(Lead, calls_again_after_a_loss_and_ends_when_it_is_asked_to) {
  Client client = new_client();
  std::vector<Token> terms;
  std::stop_source ending;
  client.lead("office", {.ttl = 6s}, ending.get_token(), [&](Lease& lease, std::stop_token stop) {
    terms.push_back(lease.token());
    if (terms.size() == 1) by_hand_.break_lease("office", lease.token(), {.by = "olga", .reason = "stuck"});
    if (terms.size() == 2) ending.request_stop();
    EXPECT_TRUE(await([&] { return stop.stop_requested(); }));
  });
  ASSERT_EQ(terms.size(), 2u);
  EXPECT_LT(terms[0], terms[1]);
  EXPECT_TRUE(is_free("office"));
}

TEST_P(Lead, ends_when_the_work_is_done_and_while_it_waits) {
  Client leader = new_client(), candidate = new_client();
  std::stop_source ending;
  leader.lead("office", {}, {}, [&](std::stop_token) {
    std::jthread other([&] {
      candidate.lead("office", {}, ending.get_token(),
                     [](std::stop_token) { ADD_FAILURE() << "two lead at once"; });
    });
    EXPECT_TRUE(await([&] { return waiting("office") == 1; }));
    ending.request_stop();
  });
  EXPECT_TRUE(is_free("office"));
}

TEST_P(Lead, an_exception_releases_and_passes_on_and_what_is_invalid_is_an_error) {
  Client client = new_client();
  const auto fail = [](std::stop_token) { throw std::logic_error("mine"); };
  EXPECT_THROW(client.lead("office", {}, {}, fail), std::logic_error);
  EXPECT_TRUE(is_free("office"));
  EXPECT_EQ(client.try_lead("", {}, {}, fail).error().code, Errc::invalid);
}

TEST_P(Lead, a_store_that_is_away_is_tried_again) {
  Trouble trouble;
  std::atomic<int> refused = 0;
  Client client = chosen_client([trouble, &refused](std::span<const Request>) {
    refused += trouble.now().kind != Fault::Kind::none ? 1 : 0;
    return trouble.now();
  });
  trouble.set(Fault::Kind::refuse_before);
  std::jthread candidate(
      [&](std::stop_token stop) { client.lead("office", {}, stop, [](std::stop_token) {}); });
  EXPECT_TRUE(await([&] { return refused > 0; }));
  trouble.end();
  candidate.join();
}

HOLDFAST_ON_EVERY_STORE(Run);
HOLDFAST_ON_EVERY_STORE(Lead);

}  // namespace
}  // namespace holdfast::test
