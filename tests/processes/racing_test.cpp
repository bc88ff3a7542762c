// SPDX-License-Identifier: Apache-2.0
// Several processes at one store.
#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <thread>

#include "holdfast/admin.h"
#include "tests/processes/fleet.h"

namespace holdfast::test {
namespace {

class Racing : public ::testing::TestWithParam<Kind> {
 protected:
  const std::unique_ptr<TestDatabase> database_ = GetParam().make();
  const std::string url_ = database_->url();
};

TEST_P(Racing, four_processes_never_hold_one_key_at_once_and_tokens_rise) {
  Fleet fleet({.url = url_, .ttl = 10s});
  EXPECT_TRUE(await([&] { return fleet.pairs() > 200 || fleet.errors() > 0; }, 90s));  // on a slow disk
  fleet.end();
  EXPECT_EQ(fleet.errors(), 0u);
}

TEST_P(Racing, one_of_eight_processes_gets_a_free_key) {
  std::vector<PeerProcess> peers;
  for (int i = 0; i < 8; ++i) peers.emplace_back(url_);
  for (int round = 0; round < 10; ++round) {
    const std::string key = "key" + std::to_string(round);
    for (PeerProcess& peer : peers) peer.send("acquire " + key + " - 60000 0");
    int granted = 0, busy = 0;
    for (PeerProcess& peer : peers) {
      const std::string answer = peer.hear();
      granted += answer.starts_with("granted ");
      busy += answer.starts_with("busy ");
    }
    EXPECT_EQ(granted, 1);
    EXPECT_EQ(busy, 7);
  }
}

TEST_P(Racing, what_another_process_holds_cannot_be_renewed_or_released) {
  PeerProcess one(url_), other(url_);
  const std::string granted = one.ask("acquire k - 60000 0");
  ASSERT_TRUE(granted.starts_with("granted ")) << granted;
  EXPECT_TRUE(other.ask("acquire k - 60000 0").starts_with("busy "));
  EXPECT_TRUE(other.ask("renew k - 60000").starts_with("lost "));
  EXPECT_TRUE(other.ask("release k -").starts_with("lost "));
  EXPECT_EQ(one.ask("acquire k - 60000 0"), granted) << "the same grant again";
  EXPECT_TRUE(one.ask("release k -").starts_with("released "));
  EXPECT_TRUE(other.ask("acquire k - 60000 0").starts_with("granted "));
}

TEST_P(Racing, the_lease_of_a_process_that_was_killed_passes_on_and_what_it_detached_stays) {
  auto killed = std::make_unique<PeerProcess>(url_);
  ASSERT_TRUE(killed->ask("acquire kept @ 60000 0").starts_with("granted "));
  const std::string before = killed->ask("acquire k - 400 0");
  ASSERT_TRUE(before.starts_with("granted ")) << before;
  killed.reset();
  PeerProcess heir(url_);
  std::string after;
  EXPECT_TRUE(await([&] { return (after = heir.ask("acquire k - 60000 0")).starts_with("granted "); }));
  EXPECT_GT(std::stoull(after.substr(8)), std::stoull(before.substr(8)));
  EXPECT_TRUE(heir.ask("acquire kept - 60000 0").starts_with("busy "));
}

TEST_P(Racing, the_place_of_a_waiter_that_was_killed_blocks_the_others_for_a_second_at_most) {
  Client owner(database_->new_client()), live(database_->new_client());
  Admin by_hand(owner);
  const auto places = [&] {
    return by_hand.list({.what = Query::What::places, .prefix = "k", .exact = true}).places;
  };
  Lease lease = owner.acquire("k", {.ttl = 1min});
  PeerProcess dead(url_);
  dead.send("wait k");
  std::vector<PlaceRow> seen;
  ASSERT_TRUE(await([&] { return (seen = places()).size() == 1; }));
  dead.kill();
  for (const PlaceRow& place : places()) EXPECT_LE(place.remaining, 1s);
  std::jthread waiter([&] { EXPECT_TRUE(live.try_acquire("k", {.wait = 1min})); });
  ASSERT_TRUE(await([&] {
    const auto now = places();
    return std::any_of(now.begin(), now.end(),
                       [&](const PlaceRow& place) { return place.client != seen[0].client; });
  }));
  lease.release();
}

TEST_P(Racing, a_process_that_was_stopped_beyond_its_lease_finds_it_lost) {
  PeerProcess stopped(url_), heir(url_);
  ASSERT_TRUE(stopped.ask("acquire k - 300 0").starts_with("granted "));
  stopped.signal(SIGSTOP);
  EXPECT_TRUE(await([&] { return heir.ask("acquire k - 60000 0").starts_with("granted "); }));
  stopped.signal(SIGCONT);
  EXPECT_TRUE(stopped.ask("renew k - 300").starts_with("lost "));
  EXPECT_TRUE(stopped.ask("release k -").starts_with("lost "));
  EXPECT_TRUE(stopped.ask("acquire k - 300 0").starts_with("busy "));
}

TEST_P(Racing, a_forked_child_may_open_a_client_of_its_own_and_outlive_its_parent) {
  PeerProcess daemon(url_);
  ASSERT_EQ(daemon.ask("load k 10"), "done");
  ASSERT_FALSE(daemon.ask("fork").empty());
  daemon.send("load a 300");
  PeerProcess visitor(url_);
  EXPECT_EQ(visitor.ask("load b 100"), "done");
  EXPECT_EQ(daemon.hear(), "done");
}

HOLDFAST_ON_EVERY_SHARED_STORE(Racing);

}  // namespace
}  // namespace holdfast::test
