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

HOLDFAST_ON_EVERY_STORE(Run);

}  // namespace
}  // namespace holdfast::test
