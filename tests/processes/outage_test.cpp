// SPDX-License-Identifier: Apache-2.0
// A server that is killed, or hangs, under several processes: what it acknowledged it still knows afterwards.
#include <gtest/gtest.h>

#include "tests/processes/fleet.h"
#include "tests/support/own_servers.h"

namespace holdfast::test {
namespace {

class Outage : public ::testing::TestWithParam<ServerKind> {
 protected:
  Outage() { server_->make_tables(); }

  void expect_work_goes_on(const Fleet& fleet) {
    const std::uint64_t before = fleet.pairs();
    EXPECT_TRUE(await([&] { return fleet.pairs() >= before + 100 || fleet.errors() > 0; }));
    EXPECT_EQ(fleet.errors(), 0u);
  }

  const std::unique_ptr<OwnServer> server_ = GetParam().make();
};

TEST_P(Outage, of_a_server_that_is_killed_and_comes_back_loses_no_grant) {
  Fleet fleet({.url = server_->url(), .ttl = 1s, .outages = true});
  for (int round = 0; round < 2; ++round) {
    expect_work_goes_on(fleet);
    server_->kill();
    const std::uint64_t before = fleet.outages();
    EXPECT_TRUE(await([&] { return fleet.outages() > before; }));
    server_->start();
  }
  expect_work_goes_on(fleet);
  fleet.end();
  fleet.expect_all_keys_free_with_a_higher_token();
}

TEST_P(Outage, of_a_server_that_hangs_lets_no_two_processes_hold_one_key) {
  Fleet fleet({.url = server_->url(), .ttl = 400ms, .outages = true});
  for (int round = 0; round < 2; ++round) {
    expect_work_goes_on(fleet);
    server_->pause();
    const std::uint64_t before = fleet.outages();
    EXPECT_TRUE(await([&] { return fleet.outages() >= before + Fleet::size; }));
    server_->resume();
  }
  expect_work_goes_on(fleet);
  fleet.end();
  fleet.expect_all_keys_free_with_a_higher_token();
}

HOLDFAST_ON_EVERY_SERVER(Outage);

}  // namespace
}  // namespace holdfast::test
