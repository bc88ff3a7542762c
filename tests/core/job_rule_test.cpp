// SPDX-License-Identifier: Apache-2.0
#include "core/job_rule.h"

#include <gtest/gtest.h>

#include <map>

#include "core/job_fields.h"

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

// A row whose fields are all texts.
class TextRow : public FieldReader {
 public:
  explicit TextRow(std::map<std::string, std::string> fields) : fields_(std::move(fields)) {}

  std::string text(const char* name) { return fields_[name]; }
  std::int64_t number(const char* name) { return fields_.contains(name) ? std::stoll(fields_[name]) : 0; }
  bool flag(const char* name) { return number(name) != 0; }
  Micros micros(const char* name) { return Micros(number(name)); }
  Millis length(const char* name) { return Millis(number(name)); }

 private:
  std::map<std::string, std::string> fields_;
};

TEST(JobFields, words_are_read_back_and_no_enumerator_is_forgotten) {
  for (const char* const state : {"queued", "running", "done", "dead", "dropped", "cancelled"})
    EXPECT_STREQ(to_string(enumerator_named<JobState>(state).value()), state);
  EXPECT_EQ(enumerator_named<OnConflict>("replace"), OnConflict::replace);
  EXPECT_EQ(enumerator_named<Unique>("until_success"), Unique::until_success);
  EXPECT_FALSE(enumerator_named<Unique>(""));
  EXPECT_FALSE(enumerator_named<Unique>("?"));
}

TEST(JobFields, a_damaged_job_is_dead_leaves_its_slot_and_names_the_first_damaged_field) {
  TextRow row({{"id", "7"},
               {"key", "k"},
               {"state", "running"},
               {"holder", "w1"},
               {"lock", "k"},
               {"token", "9"},
               {"on_conflict", "hope"},
               {"unique", "often"},
               {"slotted", "1"},
               {"claim_until", "100"},
               {"trail", "5 crashed w0\n"}});
  JobRecord job = read_job(row);
  EXPECT_EQ(job.damaged, "on_conflict");
  EXPECT_EQ(job.row.owner, "w1");
  EXPECT_EQ(job.claim_until, 100us);
  end_damaged(job, {.now = 200us, .wall = Moment(6us)});
  EXPECT_EQ(job.row.state, JobState::dead);
  EXPECT_EQ(job.row.finished_at, Moment(6us));
  EXPECT_EQ(job.row.lock, "");
  EXPECT_EQ(job.row.token, no_token);
  EXPECT_FALSE(job.row.slotted);
  EXPECT_EQ(job.claim_until, 0us);
  EXPECT_EQ(job.row.error,
            "cannot run the job: its field on_conflict has a wrong type or an unknown value; repair it, then "
            "retry the job");
  EXPECT_EQ(job.trail, "5 crashed w0\n6 failed " + job.row.error + "\n");
}

TEST(JobFields, a_state_that_nobody_knows_is_dead_until_a_person_says_otherwise) {
  TextRow row({{"state", "lost"}, {"on_conflict", "wait"}, {"unique", "no"}});
  JobRecord job = read_job(row);
  EXPECT_EQ(job.damaged, "state");
  EXPECT_EQ(seen(job, 0us).state, JobState::dead);
  EXPECT_NE(seen(job, 0us).error.find("field state"), std::string::npos);
  ASSERT_TRUE(change(job, JobChange::retry, "olga", {}));
  EXPECT_EQ(seen(job, 0us).error, "");
}

TEST(JobFields, of_several_damaged_fields_the_state_counts) {
  TextRow row({{"on_conflict", "hope"}, {"unique", "no"}, {"state", "lost"}});
  EXPECT_EQ(read_job(row).damaged, "state");
}

TEST(JobFields, a_limit_that_no_job_was_enqueued_with_is_damaged) {
  const auto job_with = [](const std::string& limit) {
    TextRow row({{"limit", limit}, {"state", "queued"}, {"on_conflict", "wait"}, {"unique", "no"}});
    return read_job(row);
  };
  for (const int limit : {0, 1, 1000}) {
    EXPECT_EQ(job_with(std::to_string(limit)).damaged, "");
    EXPECT_EQ(job_with(std::to_string(limit)).row.limit, limit);
  }
  for (const char* limit : {"-1", "1001", "2000000000", "4294967297"}) {
    EXPECT_EQ(job_with(limit).damaged, "limit") << limit;
    EXPECT_EQ(job_with(limit).row.limit, 0) << limit;
  }
}

TEST(JobLocks, a_job_has_one_key_for_each_that_may_run_at_once) {
  EXPECT_EQ(lock_keys("k", 1), std::vector<std::string>{"k"});
  EXPECT_EQ(lock_keys("k", 3), (std::vector<std::string>{"k#1", "k#2", "k#3"}));
  EXPECT_TRUE(lock_keys("k", 0).empty());
  EXPECT_EQ(lock_keys("k", 2'000'000'000).size(), 1000u) << "no job has more";
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
