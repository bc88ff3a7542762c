// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "holdfast/holdfast.h"
#include "tests/support/listener.h"
#include "tests/support/scratch.h"

namespace holdfast::test {
namespace {

using namespace std::chrono_literals;

// A server that accepts a connection and sends nothing: it hangs, or a firewall dropped the connection.
TEST(Opening, takes_no_longer_than_it_may_whatever_the_server_does) {
  const Listener silent;
  for (const std::string& url :
       {"postgres://me@" + silent.place() + "/app", "redis://" + silent.place(),
        "mongodb://" + silent.place() + "/app", "mariadb://me@" + silent.place() + "/app"}) {
    const Instant start = BootClock::now();
    const auto client = try_open(url, {.connect_wait = 200ms});
    const auto took = BootClock::now() - start;
    ASSERT_FALSE(client) << url;
    if (client.error().code == Errc::refused) continue;  // its driver is not installed
    EXPECT_EQ(client.error().code, Errc::unavailable) << url << ": " << client.error().detail;
    EXPECT_GE(took, 150ms) << url;
    EXPECT_LT(took, 4s) << url;
  }
}

TEST(Opening, can_be_spelled_so_that_nobody_confuses_it_with_the_system_call) {
  EXPECT_TRUE(Client::open("memory:").acquire("k").held());
  EXPECT_EQ(Client::try_open("nothing:").error().code, Errc::invalid);
}

// A service starts before its database does.
TEST(Opening, may_be_left_to_the_first_call_that_needs_the_store) {
  const Scratch folder;
  const std::string in_the_way = folder.path() + "/later", url = "sqlite:" + in_the_way + "/leases.db";
  std::ofstream(in_the_way) << "a file where a folder should be\n";
  EXPECT_FALSE(try_open(url));
  Client client = open(url, {.connect = Connect::lazy});
  const auto early = client.try_acquire("k");
  ASSERT_FALSE(early);
  EXPECT_NE(early.error().detail.find("later"), std::string::npos) << early.error().detail;
  EXPECT_FALSE(client.try_release("k", {"me"}));
  std::filesystem::remove(in_the_way);
  EXPECT_TRUE(client.acquire("k").held());
}

// Nobody waits behind the others for a store that does not answer.
TEST(Opening, of_a_lazy_client_takes_each_of_many_callers_no_longer_than_one) {
  const Listener silent;
  Client client = open("redis://" + silent.place(), {.connect = Connect::lazy, .connect_wait = 1s});
  const Instant start = BootClock::now();
  {
    std::vector<std::jthread> callers;
    for (int i = 0; i < 12; ++i)
      callers.emplace_back([&] { EXPECT_EQ(client.try_acquire("k").error().code, Errc::unavailable); });
  }
  EXPECT_LT(BootClock::now(), start + 8s) << "one behind the other it would be twelve";
}

TEST(Opening, of_a_lazy_client_is_tried_again_until_a_candidate_is_asked_to_stop) {
  const Listener silent;
  Client client = open("redis://" + silent.place(), {.connect = Connect::lazy, .connect_wait = 50ms});
  std::jthread candidate([&](std::stop_token stop) {
    EXPECT_TRUE(client.try_lead("k", {}, stop, [](std::stop_token) { ADD_FAILURE() << "leads nothing"; }));
  });
  for (int i = 0; i < 3; ++i) EXPECT_FALSE(client.try_acquire("k"));
}

TEST(Opening, wants_time_above_zero) {
  EXPECT_EQ(try_open("memory:", {.connect_wait = 0ms}).error().code, Errc::invalid);
}

TEST(Opening, a_place_lasts_from_30_milliseconds_to_a_day) {
  for (const Millis wrong : {Millis(0ms), Millis(29ms), Millis(24h + 1ms), Millis(never)})
    EXPECT_EQ(try_open("memory:", {.place = wrong}).error().code, Errc::invalid) << wrong.count();
  for (const Millis right : {Millis(30ms), Millis(24h)})
    EXPECT_TRUE(try_open("memory:", {.place = right})) << right.count();
}

}  // namespace
}  // namespace holdfast::test
