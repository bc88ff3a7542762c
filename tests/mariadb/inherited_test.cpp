// SPDX-License-Identifier: Apache-2.0
// What a server hands to every new session: none of it may change what our statements do.
#include "tests/mariadb/suite.h"

namespace holdfast::test {
namespace {

class Inherited : public MariaTest {
 protected:
  Inherited() { make_tables(own_.url()); }
  static std::vector<Request> each(Verb verb) {
    std::vector<Request> requests;
    for (const char* key : {"a", "b", "c"})
      requests.push_back({.verb = verb, .key = {key}, .owner = {"ann"}, .ttl = 1h});
    return requests;
  }
  const MariaServer own_{{.mysql = GetParam(), .fsync = false}};
};

// CHAIN: behind each COMMIT a new transaction begins, and nobody would commit what a lone request writes.
TEST_P(Inherited, no_completion_type_keeps_a_grant_from_being_committed) {
  own_.query("SET GLOBAL completion_type = 'CHAIN'");
  MariaCaller ours(own_.url());
  Reply replies[3];
  ASSERT_TRUE(ours.connection().apply(each(Verb::acquire), replies, soon()));
  EXPECT_EQ(ours.acquire("alone", "ann").verdict, Verdict::granted);
  EXPECT_EQ(own_.query("SELECT COUNT(*) FROM locks WHERE `key` = 'alone'", "app"), "1");
  own_.query("SET GLOBAL completion_type = 'RELEASE'");
  MariaCaller other(own_.url());
  const Status status = other.connection().apply(each(Verb::renew), replies, soon());
  EXPECT_TRUE(status) << status.error().detail;
}

TEST_P(Inherited, no_limit_of_rows_cuts_a_batch_or_a_queue) {
  own_.query("SET GLOBAL sql_select_limit = 1");
  MariaCaller ours(own_.url()), bob(own_.url()), cat(own_.url());
  for (const Verb verb : {Verb::acquire, Verb::renew}) {
    Reply replies[3];
    const Status status = ours.connection().apply(each(verb), replies, soon());
    ASSERT_TRUE(status) << status.error().detail;
    for (const Reply& reply : replies) EXPECT_EQ(reply.verdict, Verdict::granted);
  }
  EXPECT_EQ(bob.acquire("a", "bob", 1h, 1h).ahead, 0u);
  EXPECT_EQ(cat.acquire("a", "cat", 1h, 1h).ahead, 1u);
  EXPECT_EQ(MariaCaller(own_.url()).acquire("a", "dan", 1h, 1h).ahead, 2u);
}

TEST_P(Inherited, no_safe_updates_keep_a_purge_from_its_rows) {
  own_.query("SET GLOBAL sql_safe_updates = 1");
  MariaCaller ours(own_.url());
  ours.acquire("k", "ann");
  ours.release("k", "ann");
  EXPECT_TRUE(await([&] {
    const auto purged = ours.store().admin()->purge({.free_for = 0ms}, soon());
    EXPECT_TRUE(purged) << purged.error().detail;
    return !purged || purged->keys == 1;
  }));
}

HOLDFAST_ON_BOTH(Inherited);

}  // namespace
}  // namespace holdfast::test
