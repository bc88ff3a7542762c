// SPDX-License-Identifier: Apache-2.0
// Requests whose reply did not come: which of them are sent again, and what that must not do.
#include <atomic>
#include <future>
#include <optional>
#include <stop_token>
#include <string>

#include "client/client_access.h"
#include "tests/client/suite.h"

namespace holdfast::test {
namespace {

class SentAgain : public ClientTest {};

TEST_P(SentAgain, an_acquire_that_arrives_after_it_was_given_back_leaves_no_ghost) {
  const auto arrives = [&](const std::string& key) {
    const auto stray = database_->new_client()->connect(BootClock::now() + 5s).value();
    std::string owner;
    int acquires = 0;
    std::atomic<int> releases = 0;
    Client client = chosen_client([&](std::span<const Request> requests) {
      if (requests[0].verb == Verb::release) ++releases;
      if (requests[0].verb != Verb::acquire) return Fault{};
      owner = requests[0].owner.text;
      // Nobody knows what became of the first.
      return Fault{++acquires == 1 ? Fault::Kind::lose_before : Fault::Kind::refuse_before};
    });
    const Instant until = BootClock::now() + 1s;
    EXPECT_EQ(client.try_acquire(key, {.ttl = 1h}).error().code, Errc::in_doubt);
    EXPECT_TRUE(await([&] { return releases >= 1; }));
    return is_given_back({.verb = Verb::acquire, .key = {key}, .owner = {owner}, .ttl = 1h}, *stray, until);
  };
  int times = 0;  // if we were paused for so long that it was never sent: again
  EXPECT_TRUE(await([&] { return arrives("k" + std::to_string(++times)); }));
}

TEST_P(SentAgain, a_release_that_is_still_to_be_sent_does_not_free_what_its_owner_acquired_again) {
  std::atomic<bool> apart = false;
  std::atomic<int> of_k = 0, of_l = 0;  // releases that were refused
  Client client = chosen_client([&](std::span<const Request> requests) {
    if (requests[0].verb != Verb::release || !apart) return Fault{};
    for (const Request& r : requests) ++(r.key.text == "k" ? of_k : of_l);
    return Fault{Fault::Kind::refuse_before};
  });
  Lease lease = client.acquire("k", {.ttl = 1h, .owner = "me"}), other = client.acquire("l", {.ttl = 1h});
  apart = true;
  EXPECT_EQ(lease.try_release().error().code, Errc::unavailable);
  ASSERT_TRUE(await([&] { return of_k >= 2; }));  // by us, and for us
  EXPECT_EQ(other.try_release().error().code, Errc::unavailable);
  const Lease again = client.acquire("k", {.ttl = 1h, .owner = "me"});
  const int sent_k = of_k, sent_l = of_l;
  ASSERT_TRUE(await([&] { return of_l >= sent_l + 4; }));  // both would be sent equally often
  EXPECT_LE(of_k, sent_k + 1) << "one may have been on its way";
  apart = false;
  EXPECT_FALSE(is_free("k"));
}

TEST_P(SentAgain, a_release_by_a_destructor_that_fails_is_sent_again) {
  std::atomic<int> releases = 0;
  Client client = chosen_client([&](std::span<const Request> requests) {
    const bool fails = requests[0].verb == Verb::release && ++releases == 1;
    return Fault{fails ? Fault::Kind::refuse_before : Fault::Kind::none};
  });
  { const Lease lease = client.acquire("k", {.ttl = 1h}); }
  EXPECT_TRUE(await([&] { return is_free("k"); }));
}

// The other thread waits for us then, and we must not wait for it.
TEST_P(SentAgain, an_acquire_that_was_granted_unseen_does_not_wait_behind_a_thread_that_queues) {
  std::optional<Client> client;
  std::atomic<bool> sending = false;
  client = chosen_client([&](std::span<const Request> requests) {
    if (requests[0].verb != Verb::acquire || sending.exchange(true)) return Fault{};
    await([&] { return ClientAccess::waiters(*client, "k") == 1; });
    return Fault{Fault::Kind::lose_after};
  });
  auto polling = std::async(
      std::launch::async, [&] { return client->try_acquire("k", {.ttl = 1h, .wait = 30s, .fair = false}); });
  ASSERT_TRUE(await([&] { return sending.load(); }));
  std::stop_source enough;
  auto queueing = std::async(std::launch::async, [&] {
    return client->try_acquire("k", {.ttl = 1h, .wait = forever, .stop = enough.get_token()});
  });
  EXPECT_TRUE(polling.get()) << "it was granted, and the reply was lost";
  enough.request_stop();
  (void)queueing.get();
}

TEST_P(SentAgain, a_waiter_logs_the_cause_of_its_trouble_once) {
  std::atomic<int> lines = 0, calls = 0;
  Client client = chosen_client(
      [&](std::span<const Request>) { return ++calls <= 4 ? Fault{Fault::Kind::refuse_before} : Fault{}; },
      {.log = [&](std::string_view line) {
        if (line.find("cannot acquire k") != std::string_view::npos) ++lines;
      }});
  EXPECT_TRUE(client.try_acquire("k", {.wait = 60s}));
  EXPECT_GE(calls, 5);
  EXPECT_EQ(lines, 1);
}

HOLDFAST_ON_EVERY_STORE(SentAgain);

}  // namespace
}  // namespace holdfast::test
