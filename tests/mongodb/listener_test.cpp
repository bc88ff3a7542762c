// SPDX-License-Identifier: Apache-2.0
// A replica set can notify; a standalone server cannot.  Name a set in HOLDFAST_TEST_MONGODB to run the first
// half.
#include <poll.h>

#include <algorithm>
#include <atomic>

#include "tests/mongodb/fake_member.h"
#include "tests/mongodb/suite.h"

namespace holdfast::test {
namespace {

class ListenerOfMongo : public MongoTest {};

// Whether it notifies for that key; a notification without a key may mean any key.
bool rings_for(StoreListener& listener, const std::string& key) {
  pollfd fd{listener.fd(), POLLIN, 0};
  if (::poll(&fd, 1, 2'000) != 1) return false;
  const auto keys = listener.ready().value();
  return std::find(keys.begin(), keys.end(), key) != keys.end();
}

TEST_F(ListenerOfMongo, a_replica_set_notifies_the_first_waiter_and_a_standalone_has_no_listener) {
  Caller ann(url()), bob(url()), cat(url());
  const auto listener = bob.listener();
  ASSERT_EQ(listener != nullptr, bob.examine().push);
  if (!listener) return;
  // The stream may not be open yet: handed over until it is heard.
  EXPECT_TRUE(await([&] {
    ann.acquire("k", "ann");
    bob.acquire("k", "bob", 1h, 1h);
    cat.acquire("k", "cat", 1h, 1h);
    ann.release("k", "ann");
    const bool heard = rings_for(*listener, "k");
    for (Caller* waiter : {&bob, &cat}) {
      const char* name = waiter == &bob ? "bob" : "cat";
      waiter->acquire("k", name);
      waiter->release("k", name);
    }
    return heard;
  }));
}

// What the change stream searches for, on any server.
TEST_F(ListenerOfMongo, a_release_writes_whom_it_notifies) {
  Caller ann(url()), bob(url());
  ann.acquire("k", "ann");
  const auto document = [&] { return mongo(R"({"find": "locks", "filter": {"_id": "k"}})"); };
  EXPECT_FALSE(mentions(document(), "ring"));
  bob.acquire("k", "bob", 1h, 1h);
  ann.release("k", "ann");
  EXPECT_TRUE(mentions(document(), "\"ring\" : \"" + bob.store().client() + " ")) << document();
}

// A proxy or a firewall drops the connection, and neither end is notified.
TEST(SilentListenerOfMongo, a_change_stream_without_an_answer_is_opened_again) {
  ASSERT_TRUE(mongodb::load_mongoc());
  std::atomic<int> streams = 0;
  std::string place;
  const FakeMember member([&](const std::string& message) -> std::optional<std::string> {
    if (mentions(message, "getMore")) return std::nullopt;
    if (mentions(message, "$changeStream")) {
      ++streams;
      return R"({"ok": 1, "cursor": {"id": {"$numberLong": "7"}, "ns": "app.locks", "firstBatch": []}})";
    }
    return hello_of_set(place, place, {place});
  });
  place = member.place();
  Caller caller("mongodb://" + place + "/app?replicaSet=rs0");
  const auto listener = caller.listener();
  ASSERT_TRUE(listener);
  EXPECT_TRUE(await([&] { return streams >= 2; }));
}

}  // namespace
}  // namespace holdfast::test
