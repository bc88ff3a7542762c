// SPDX-License-Identifier: Apache-2.0
// A dead client is noticed at once, and a live one is never taken for dead.
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <filesystem>

#include "tests/sqlite/suite.h"

namespace holdfast::test {
namespace {

using Death = SqliteTest;

TEST_F(Death, a_killed_holder_is_taken_over_at_once_and_not_after_its_ttl) {
  SqliteCaller here(path_);
  PeerProcess owner(url_);
  ASSERT_TRUE(owner.ask("acquire k - 3600000 0").starts_with("granted"));
  ASSERT_EQ(here.acquire("k").verdict, Verdict::busy);
  owner.kill();
  const Reply reply = here.acquire("k");
  EXPECT_EQ(reply.verdict, Verdict::granted);
  const auto log = here.log("k");
  ASSERT_EQ(log.size(), 1u);
  EXPECT_EQ(log[0].event, "taken-over");
  EXPECT_NE(log[0].owner.find(owner.client()), std::string::npos);
  EXPECT_EQ(log[0].by, here.name());
  EXPECT_EQ(log[0].reason, "its process was dead");
  EXPECT_LT(log[0].token, reply.token);
}

TEST_F(Death, a_killed_holder_with_a_name_of_its_own_is_taken_over_too) {
  SqliteCaller here(path_);
  PeerProcess owner(url_);
  ASSERT_TRUE(owner.ask("acquire k alice 3600000 0").starts_with("granted"));
  ASSERT_EQ(here.acquire("k").owner, "alice");
  owner.kill();
  EXPECT_TRUE(here.granted("k"));
}

TEST_F(Death, a_lease_of_the_dead_is_listed_as_free) {
  SqliteCaller here(path_);
  PeerProcess owner(url_);
  ASSERT_TRUE(owner.ask("acquire k alice 3600000 0").starts_with("granted"));
  ASSERT_GT(here.leases().at(0).remaining, 0ms);
  owner.kill();
  EXPECT_EQ(here.leases().at(0).remaining, 0ms);
  EXPECT_EQ(here.leases().at(0).owner, "alice");
}

TEST_F(Death, a_stopped_holder_keeps_its_lease) {
  SqliteCaller here(path_);
  PeerProcess owner(url_);
  ASSERT_TRUE(owner.ask("acquire k - 3600000 0").starts_with("granted"));
  owner.signal(SIGSTOP);
  EXPECT_EQ(here.acquire("k").verdict, Verdict::busy);
  owner.signal(SIGCONT);
}

TEST_F(Death, a_grandchild_with_the_proof_of_life_keeps_the_lease_alive) {
  SqliteCaller here(path_);
  PeerProcess owner(url_);
  ASSERT_TRUE(owner.ask("acquire k - 3600000 0").starts_with("granted"));
  const int grandchild = std::stoi(owner.ask("descend"));
  owner.kill();
  EXPECT_EQ(here.acquire("k").verdict, Verdict::busy);
  ::kill(grandchild, SIGKILL);
  EXPECT_TRUE(await([&] { return here.granted("k"); }));
}

TEST_F(Death, a_detached_lease_outlives_its_process_until_its_ttl) {
  SqliteCaller here(path_);
  PeerProcess owner(url_);
  ASSERT_TRUE(owner.ask("acquire k @ 3600000 0").starts_with("granted"));
  ASSERT_TRUE(owner.ask("acquire soon @ 50 0").starts_with("granted"));
  owner.kill();
  EXPECT_EQ(here.acquire("k").verdict, Verdict::busy);
  EXPECT_TRUE(here.leases().at(0).detached);
  EXPECT_TRUE(await([&] { return here.granted("soon"); }));
}

TEST_F(Death, of_two_processes_with_one_name_the_death_of_one_proves_nothing) {
  SqliteCaller here(path_);
  PeerProcess one(url_), other(url_);
  const std::string granted = one.ask("acquire k alice 3600000 0");
  ASSERT_TRUE(granted.starts_with("granted"));
  ASSERT_EQ(other.ask("acquire k alice 3600000 0"), granted) << "the same holder, the same token";
  one.kill();
  EXPECT_EQ(here.acquire("k").verdict, Verdict::busy);
  EXPECT_EQ(other.ask("renew k alice 3600000"), granted);
}

TEST_F(Death, of_two_processes_with_one_name_the_death_of_the_later_proves_nothing_either) {
  SqliteCaller here(path_);
  PeerProcess one(url_), other(url_);
  const std::string granted = one.ask("acquire k alice 3600000 0");
  ASSERT_EQ(other.ask("acquire k alice 3600000 0"), granted);
  other.kill();
  EXPECT_EQ(here.acquire("k").verdict, Verdict::busy);
  EXPECT_EQ(one.ask("renew k alice 3600000"), granted);
}

TEST_F(Death, a_name_that_is_taken_up_again_after_a_death_dies_with_its_new_process) {
  SqliteCaller here(path_);
  PeerProcess one(url_), other(url_);
  const std::string granted = one.ask("acquire k alice 3600000 0");
  one.kill();
  ASSERT_EQ(other.ask("acquire k alice 3600000 0"), granted);
  EXPECT_EQ(here.acquire("k").verdict, Verdict::busy);
  other.kill();
  EXPECT_TRUE(here.granted("k"));
}

TEST_F(Death, a_renewal_by_name_keeps_the_lease_of_a_process_that_died) {
  SqliteCaller here(path_);
  PeerProcess one(url_), other(url_);
  const std::string granted = one.ask("acquire k alice 3600000 0");
  one.kill();
  ASSERT_EQ(other.ask("renew k alice 3600000"), granted);
  EXPECT_EQ(here.acquire("k").verdict, Verdict::busy);
}

TEST_F(Death, a_dead_waiter_does_not_block_the_queue) {
  SqliteCaller here(path_), next(path_);
  PeerProcess waiter(url_);
  ASSERT_TRUE(here.granted("k"));
  ASSERT_TRUE(waiter.ask("acquire k - 3600000 3600000").starts_with("busy"));
  ASSERT_TRUE(next.queues("k"));
  waiter.kill();
  here.release("k");
  EXPECT_TRUE(next.is_rung()) << "the first who lives";
  EXPECT_TRUE(next.granted("k"));
}

TEST_F(Death, a_client_that_finds_the_first_waiter_dead_notifies_the_next) {
  SqliteCaller here(path_), next(path_), passer_by(path_);
  PeerProcess waiter(url_);
  ASSERT_TRUE(here.granted("k"));
  ASSERT_TRUE(waiter.ask("acquire k - 3600000 3600000").starts_with("busy"));
  ASSERT_TRUE(next.queues("k"));
  waiter.signal(SIGSTOP);
  here.release("k");  // notifies the waiter, which is gone
  ASSERT_FALSE(next.is_rung());
  waiter.kill();
  EXPECT_EQ(passer_by.acquire("k").verdict, Verdict::busy);
  EXPECT_TRUE(next.is_rung());
}

TEST_F(Death, a_waiter_is_notified_that_the_holder_was_killed) {
  SqliteCaller here(path_);
  PeerProcess owner(url_);
  ASSERT_TRUE(owner.ask("acquire k - 3600000 0").starts_with("granted"));
  ASSERT_TRUE(here.queues("k"));
  ASSERT_FALSE(here.is_rung());
  owner.kill();
  EXPECT_TRUE(await([&] { return here.is_rung(); }));
  here.hear();
  EXPECT_FALSE(here.is_rung()) << "told once";
  EXPECT_TRUE(here.granted("k"));
}

TEST_F(Death, a_waiter_behind_a_stopped_one_is_notified_when_that_one_dies) {
  SqliteCaller here(path_), owner(path_);
  PeerProcess first(url_);
  ASSERT_TRUE(owner.granted("k"));
  ASSERT_TRUE(first.ask("acquire k - 3600000 3600000").starts_with("busy"));
  first.signal(SIGSTOP);
  owner.release("k");
  ASSERT_TRUE(here.queues("k")) << "free, but the first lives";
  ASSERT_FALSE(here.is_rung());
  first.kill();
  EXPECT_TRUE(await([&] { return here.is_rung(); }));
  EXPECT_TRUE(here.granted("k"));
}

TEST_F(Death, a_client_that_ends_in_good_order_leaves_nothing_behind) {
  const std::string fifos = path_ + ".d";
  {
    SqliteCaller here(path_);
    ASSERT_EQ(std::distance(std::filesystem::directory_iterator(fifos), {}), 1);
    ASSERT_TRUE(here.granted("k"));
    ASSERT_EQ(here.acquire("l", "alice").verdict, Verdict::granted);
    here.release("k");
    here.release("l", "alice");
  }
  EXPECT_TRUE(std::filesystem::is_empty(fifos));
}

TEST_F(Death, a_client_that_goes_without_releasing_is_dead) {
  SqliteCaller here(path_);
  {
    SqliteCaller owner(path_);
    ASSERT_TRUE(owner.granted("k"));
  }
  EXPECT_TRUE(here.granted("k"));
}

TEST_F(Death, the_proof_of_life_is_a_descriptor_that_an_exec_closes) {
  SqliteCaller here(path_);
  const Fd proof(here.store().proof_of_life());
  ASSERT_TRUE(proof);
  EXPECT_EQ(fcntl(proof.get(), F_GETFD), FD_CLOEXEC);
}

TEST_F(Death, dead_fifos_go_when_the_tables_are_swept_but_not_before_their_leases) {
  SqliteCaller here(path_);
  PeerProcess idle(url_), owner(url_);
  ASSERT_TRUE(owner.ask("acquire k - 3600000 0").starts_with("granted"));
  idle.kill();
  owner.kill();
  const std::string idle_fifo = path_ + ".d/locks." + idle.client(),
                    holder_fifo = path_ + ".d/locks." + owner.client();
  EXPECT_TRUE(await([&] {
    here.granted("x");
    here.release("x");
    return !std::filesystem::exists(idle_fifo);
  }));
  EXPECT_TRUE(std::filesystem::exists(holder_fifo));
  EXPECT_TRUE(here.granted("k"));
}

}  // namespace
}  // namespace holdfast::test
