// SPDX-License-Identifier: Apache-2.0
#include <sys/wait.h>
#include <unistd.h>

#include <future>

#include "tests/client/suite.h"

namespace holdfast::test {
namespace {

class Fork : public ClientTest {
 protected:
  // True if `in_child` was, in a forked child.
  template <class F>
  static bool true_in_child(F in_child) {
    const pid_t child = fork();
    if (child == 0) _exit(in_child() ? 0 : 1);
    int status = 0;
    waitpid(child, &status, 0);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
  }
};

TEST_P(Fork, a_child_holds_nothing_and_sends_nothing) {
  Client client = new_client();
  Admin by_hand(client);
  ASSERT_EQ(by_hand.list().leases.size(), 0u);
  auto lease = std::make_unique<Lease>(client.acquire("k"));
  EXPECT_TRUE(true_in_child([&] {
    const bool lost =
        !lease->held() && lease->lost().reason == Loss::forked && lease->stop_token().stop_requested();
    const bool refused = client.try_acquire("l").error().code == Errc::forked &&
                         lease->try_renew().error().code == Errc::forked &&
                         lease->try_release().error().code == Errc::forked &&
                         by_hand.try_list().error().code == Errc::forked &&
                         Admin(client).try_list().error().code == Errc::forked;
    lease.reset();  // its destructor does nothing
    return lost && refused;
  }));
  EXPECT_TRUE(lease->held());
  EXPECT_FALSE(is_free("k"));
  EXPECT_EQ(lease->release(), Released::released);
}

TEST_P(Fork, assigning_in_a_child_leaves_the_parents_alone) {
  Client client = new_client();
  Admin by_hand(client);
  ASSERT_TRUE(by_hand.try_list());
  const Client other = new_client();
  EXPECT_TRUE(true_in_child([&] {
    by_hand = Admin(database_->new_client());
    client = Client(database_->new_client());
    return client.try_acquire("own").has_value() && by_hand.try_list().has_value();
  }));
  // The parent's client still works, and its waiters are still notified.
  Lease lease = client.acquire("k");
  auto waiter =
      std::async(std::launch::async, [&] { return Client(other).acquire("k", {.wait = 20s}).held(); });
  ASSERT_TRUE(await([&] { return waiting("k") == 1; }));
  EXPECT_TRUE(by_hand.try_list());
  lease.release();
  EXPECT_TRUE(waiter.get());
}

TEST_P(Fork, the_destructors_of_a_child_do_not_hang_or_touch_the_parents_lease) {
  auto client = std::make_unique<Client>(new_client());
  auto lease = std::make_unique<Lease>(short_lease(*client, "k", {.ttl = 3s}));
  EXPECT_TRUE(true_in_child([&] {
    client.reset();
    lease.reset();
    return true;
  }));
  const Instant deadline = lease->deadline();
  EXPECT_TRUE(await([&] { return lease->deadline() > deadline; }));  // still renewed
}

TEST_P(Fork, a_child_may_open_a_client_of_its_own) {
  if (database_->url().empty()) return;  // memory is one process's
  Client client = new_client();
  const Lease lease = client.acquire("k");
  EXPECT_TRUE(true_in_child([&] {
    Client own = new_client();
    return own.try_acquire("k").error().code == Errc::busy && own.try_acquire("l").has_value();
  }));
}

HOLDFAST_ON_EVERY_STORE(Fork);

}  // namespace
}  // namespace holdfast::test
