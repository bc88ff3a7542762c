// SPDX-License-Identifier: Apache-2.0
// No zone bends a lease: not the server's, and not one that is changed while it runs.
#include "tests/mariadb/suite.h"

namespace holdfast::test {
namespace {

class Zones : public MariaTest {};

TEST_P(Zones, a_lease_is_as_long_whatever_the_servers_zone_is_and_becomes) {
  const MariaServer own({.lines = {"default_time_zone='+05:30'"}, .mysql = mysql(), .fsync = false});
  make_tables(own.url());
  MariaCaller before(own.url());
  const Reply mine = before.acquire("k", "ann", 10min);
  // As far as no change to summer time goes.
  own.query("SET GLOBAL time_zone = '-08:00'");
  MariaCaller after(own.url());
  const Reply theirs = after.acquire("k", "bob");
  EXPECT_EQ(theirs.verdict, Verdict::busy);
  EXPECT_GT(theirs.remaining, 9min);
  EXPECT_LE(theirs.remaining, 10min);
  EXPECT_EQ(after.renew("k", "ann", mine.token, 20min).verdict, Verdict::granted);
  EXPECT_LE(before.acquire("k", "bob").remaining, 20min);
  EXPECT_GT(before.acquire("k", "bob").remaining, 19min);
  const Page page = after.list({});
  EXPECT_LT(std::chrono::abs(page.leases.front().since.value() - Moment(Micros(to_number(mine.token)))), 5s);
  EXPECT_EQ(own.query("SELECT ABS(TIMESTAMPDIFF(SECOND, UTC_TIMESTAMP(), locked_at)) < 60 FROM locks", "app"),
            "1");
}

TEST_P(Zones, a_lease_that_has_run_out_is_free_in_every_zone) {
  const MariaServer own({.lines = {"default_time_zone='+13:00'"}, .mysql = mysql(), .fsync = false});
  make_tables(own.url());
  MariaCaller ours(own.url());
  ours.acquire("k", "ann", 1ms);
  EXPECT_TRUE(await([&] { return ours.acquire("k", "bob").verdict == Verdict::granted; }));
}

HOLDFAST_ON_BOTH(Zones);

}  // namespace
}  // namespace holdfast::test
