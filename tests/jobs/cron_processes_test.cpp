// SPDX-License-Identifier: Apache-2.0
// Several processes that keep one schedule.  Nobody waits for a minute to pass: the last ones were missed,
// and each process makes up for all of them.
#include <gmock/gmock.h>

#include "tests/jobs/suite.h"
#include "tests/processes/process.h"

namespace holdfast::test {
namespace {

using std::chrono::minutes;
using ::testing::ElementsAreArray;

class CronProcesses : public JobsOn {
 protected:
  // As if the tick of so long ago had been the last.
  void begin(minutes ago) {
    last_ = std::chrono::floor<minutes>(jobs_.tick("cron:Trial").now) - ago;
    ASSERT_TRUE(jobs_.take_tick({.name = "cron:Trial", .tick = last_.time_since_epoch() / 1s}).taken);
  }
  Process keeper() { return Process({database_->url(), "cron", "before-enqueue", "* * * * *"}); }
  // Which ticks were enqueued, counted from the one that was the last, in their order.
  std::vector<long> ticks() {
    std::vector<long> found;
    for (const JobRow& row : jobs_.list({.name = "Trial"})) found.push_back((row.run_at - last_) / 1min);
    std::sort(found.begin(), found.end());
    return found;
  }

  std::chrono::sys_time<minutes> last_{};
};

constexpr auto about_to = "at before-enqueue";

TEST_P(CronProcesses, of_two_that_come_for_the_same_tick_at_once_one_enqueues_it) {
  begin(6min);
  Process one = keeper(), two = keeper();
  for (int tick = 1; tick <= 5; ++tick) {
    ASSERT_EQ(one.hear(), about_to);
    ASSERT_EQ(two.hear(), about_to);
    one.send("go on");
    two.send("go on");
  }
  // At the sixth: what they did about the fifth is done.
  ASSERT_EQ(one.hear(), about_to);
  ASSERT_EQ(two.hear(), about_to);
  EXPECT_THAT(ticks(), ElementsAreArray({1, 2, 3, 4, 5}));
}

TEST_P(CronProcesses, one_that_comes_late_for_a_tick_does_not_enqueue_it_again) {
  begin(4min);
  Process late = keeper();
  ASSERT_EQ(late.hear(), about_to) << "the first tick";
  Process quick = keeper();
  for (int tick = 1; tick <= 3; ++tick) {
    ASSERT_EQ(quick.hear(), about_to);
    quick.send("go on");
  }
  ASSERT_EQ(quick.hear(), about_to);
  for (int tick = 1; tick <= 3; ++tick) {
    late.send("go on");
    ASSERT_EQ(late.hear(), about_to);
  }
  EXPECT_THAT(ticks(), ElementsAreArray({1, 2, 3}));
}

TEST_P(CronProcesses, a_tick_whose_keeper_died_before_it_was_enqueued_is_enqueued_by_the_other) {
  begin(3min);
  Process dies = keeper();
  ASSERT_EQ(dies.hear(), about_to);
  dies.kill();
  EXPECT_TRUE(ticks().empty());
  Process stays = keeper();
  for (int tick = 1; tick <= 2; ++tick) {
    ASSERT_EQ(stays.hear(), about_to);
    stays.send("go on");
  }
  ASSERT_EQ(stays.hear(), about_to);
  EXPECT_THAT(ticks(), ElementsAreArray({1, 2}));
}

HOLDFAST_ON_EVERY_SHARED_STORE_OF_JOBS(CronProcesses);

}  // namespace
}  // namespace holdfast::test
