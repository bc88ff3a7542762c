// SPDX-License-Identifier: Apache-2.0
// A listening connection is silent while nothing happens, so the client checks that it still works.
#include <gmock/gmock.h>
#include <poll.h>

#include "base/fd.h"
#include "tests/postgres/suite.h"
#include "tests/support/servers/relay.h"

namespace holdfast::test {
namespace {

using Keys = std::vector<std::string>;

class Listening : public PostgresTest {
 protected:
  Listening() { make_tables(url()); }
  // As somebody between us and the server passes it on.
  std::string through(const Relay& relay) const {
    return "postgres://postgres@127.0.0.1:" + std::to_string(relay.port()) + "/postgres?table=" + schema_ +
           ".locks";
  }
  // The next notification, as a client gets it; none: not within `limit`.
  static std::optional<Keys> next(StoreListener& listener, Millis limit) {
    const Instant end = BootClock::now() + limit;
    while (holdfast::await(listener.fd(), POLLIN, end)) {
      if (Keys keys = listener.ready().value(); keys != Keys{""}) return keys;
    }
    return std::nullopt;
  }
};

TEST_F(Listening, a_silently_cut_connection_is_noticed_and_replaced) {
  Relay relay({shared_postgres().port});
  Caller ann(url()), bob(through(relay));
  ann.acquire("k", "ann");
  bob.acquire("k", "bob", 1h, 1h);
  const auto listener = bob.listener();
  relay.forget_connections();
  const auto first = next(*listener, 30s);
  ASSERT_TRUE(first) << "it listens to nobody";
  EXPECT_EQ(*first, Keys{}) << "anything may have happened";
  ann.release("k", "ann");
  EXPECT_EQ(next(*listener, 20s), Keys{"k"});
}

TEST_F(Listening, a_silent_connection_is_checked_and_wakes_nobody) {
  Caller ann(url()), bob(url());
  ann.acquire("k", "ann");
  bob.acquire("k", "bob", 1h, 1h);
  const auto listener = bob.listener();
  const auto asked = [&] {
    return psql()->value("SELECT count(*) FROM pg_stat_activity WHERE query = 'SELECT' AND state = 'idle'");
  };
  const Instant end = BootClock::now() + 30s;
  while (asked() == "0" && BootClock::now() < end) {
    if (!holdfast::await(listener->fd(), POLLIN, BootClock::now() + 100ms)) continue;
    EXPECT_EQ(listener->ready().value(), Keys{""});
  }
  EXPECT_NE(asked(), "0");
  ann.release("k", "ann");
  EXPECT_EQ(next(*listener, 20s), Keys{"k"});
}

}  // namespace
}  // namespace holdfast::test
