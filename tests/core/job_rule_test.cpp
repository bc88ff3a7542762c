// SPDX-License-Identifier: Apache-2.0
#include "core/job_rule.h"

#include <gtest/gtest.h>

namespace holdfast::core {
namespace {

using namespace std::chrono_literals;

TEST(JobTrail, what_is_noted_is_read_as_moment_event_and_detail) {
  JobRecord job;
  note(job, Moment(7us), "parked", "");
  note(job, Moment(1'763'179'929s), "failed", "no paper\nat all");
  EXPECT_EQ(job.trail, "7 parked \n1763179929000000 failed no paper at all\n") << "as it is stored";
  const JobRow row = seen(job, 0us);
  ASSERT_EQ(row.trail.size(), 2u);
  EXPECT_EQ(row.trail[0].at, Moment(7us));
  EXPECT_EQ(row.trail[0].event, "parked");
  EXPECT_EQ(row.trail[0].detail, "");
  EXPECT_EQ(row.trail[1].at, Moment(1'763'179'929s));
  EXPECT_EQ(row.trail[1].event, "failed");
  EXPECT_EQ(row.trail[1].detail, "no paper at all");
}

TEST(JobTrail, what_another_program_wrote_there_is_left_out) {
  EXPECT_TRUE(trail_of("").empty());
  EXPECT_TRUE(trail_of("\n\nfailed at noon\n99999999999999999999 failed\n").empty());
  const auto odd = trail_of("5\n6 \n7 failed");
  ASSERT_EQ(odd.size(), 3u);
  EXPECT_EQ(odd[0].event + odd[0].detail + odd[1].event, "");
  EXPECT_EQ(odd[2].event, "failed");
}

}  // namespace
}  // namespace holdfast::core
