// SPDX-License-Identifier: Apache-2.0
#include "core/findings.h"

#include <gtest/gtest.h>

namespace holdfast::core {
namespace {

constexpr std::string_view some_topics[] = {"redis.appendonly", "redis.tls"};

struct Cups {
  int clean = 0, broken = 0;
};

constexpr FindingRule<Cups> cup_rules[] = {
    {.topic = "kitchen.empty",
     .severity = Severity::danger,
     .applies = [](const Cups& cups) { return cups.clean == 0; },
     .what = "no cup is clean",
     .advice = "wash one",
     .blocks = true},
    {.topic = "kitchen.broken",
     .severity = Severity::note,
     .applies = [](const Cups& cups) { return cups.broken > 0; },
     .what = [](const Cups& cups) { return std::to_string(cups.broken) + " are broken"; },
     .advice = "buy others",
     .at_open = true},
    {.topic = "kitchen.broken",
     .severity = Severity::warning,
     .applies = [](const Cups& cups) { return cups.broken > 9; },
     .what = "most are broken",
     .advice = "buy others"},
};

TEST(RulesTest, those_that_apply_make_findings_in_the_order_of_the_table) {
  EXPECT_TRUE(judged(cup_rules, {.clean = 1}).empty());
  const auto found = judged(cup_rules, {.clean = 0, .broken = 3});
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].topic, "kitchen.empty");
  EXPECT_EQ(found[0].severity, Severity::danger);
  EXPECT_EQ(found[0].what + "; " + found[0].advice, "no cup is clean; wash one");
  EXPECT_TRUE(found[0].blocks && !found[0].at_open);
  EXPECT_EQ(found[1].what, "3 are broken");
  EXPECT_TRUE(found[1].at_open && !found[1].blocks);
}

TEST(RulesTest, their_topics_are_listed_once_in_alphabetical_order) {
  EXPECT_EQ(topics_of(cup_rules, cup_rules),
            (std::vector<std::string_view>{"kitchen.broken", "kitchen.empty"}));
}

TEST(GradeTest, a_warning_makes_a_store_c_at_best_and_a_danger_d) {
  const auto found = [](std::initializer_list<Severity> all) {
    std::vector<Finding> findings;
    for (const Severity severity : all) findings.push_back({severity, "topic", "what", "advice"});
    return findings;
  };
  const auto note = found({Severity::note}), warning = found({Severity::note, Severity::warning});
  const auto danger = found({Severity::danger, Severity::warning});
  EXPECT_EQ(grade_of(Grade::A, note), Grade::A);
  EXPECT_EQ(grade_of(Grade::B, {}), Grade::B);
  EXPECT_EQ(grade_of(Grade::B, warning), Grade::C);
  EXPECT_EQ(grade_of(Grade::D, warning), Grade::D);
  EXPECT_EQ(grade_of(Grade::A, danger), Grade::D);
  const std::string all = std::string(to_string(Grade::A)) + to_string(Grade::B) + to_string(Grade::C);
  EXPECT_EQ(all + to_string(Grade::D), "ABCD");
}

TEST(AcceptedTest, one_topic_covers_itself_and_nothing_else) {
  const Accepted one{.topics = {"redis.tls"}};
  EXPECT_TRUE(one.covers("redis.tls"));
  EXPECT_FALSE(one.covers("redis.tls-and-more"));
  EXPECT_FALSE(one.covers("redis.appendonly"));
  EXPECT_FALSE(Accepted{}.covers(""));
  EXPECT_TRUE(Accepted{.all = true}.covers("redis.appendonly"));
}

TEST(AcceptedTest, accepted_findings_are_not_reported_and_the_rest_is) {
  const auto marked = [](const Accepted& accepted) {
    std::vector<Finding> found = {{Severity::warning, "redis.tls", "what", "advice", true},
                                  {Severity::danger, "redis.eviction", "what", "advice", true},
                                  {Severity::note, "redis.kind", "what", "advice", false}};
    mark_accepted(found, accepted);
    return found;
  };
  const auto one = marked({.topics = {"redis.tls"}});
  EXPECT_TRUE(one[0].accepted && !one[0].at_open);
  EXPECT_TRUE(!one[1].accepted && one[1].at_open);
  EXPECT_TRUE(!one[2].accepted && !one[2].at_open);
  for (const Finding& finding : marked({.all = true})) EXPECT_FALSE(finding.at_open || finding.accepted);
}

TEST(AcceptedTest, a_list_is_taken_apart_at_its_commas) {
  EXPECT_EQ(topics_in("a.b"), std::vector<std::string>{"a.b"});
  EXPECT_EQ(topics_in("a.b,c.d"), (std::vector<std::string>{"a.b", "c.d"}));
  EXPECT_EQ(topics_in("a.b,"), (std::vector<std::string>{"a.b", ""})) << "and then refused";
}

TEST(AcceptedTest, an_unknown_topic_is_an_error_that_names_the_known_ones) {
  EXPECT_TRUE(check_topics(topics_in("redis.tls,redis.appendonly"), some_topics));
  EXPECT_TRUE(check_topics({}, some_topics));
  EXPECT_FALSE(check_topics(topics_in("redis.tls"), {})) << "a store without findings";
  for (const char* wrong : {"redis.tsl", "tls", "", "redis.tls,", "redis.tls;redis.tls", "mongodb.tls"}) {
    const Status status = check_topics(topics_in(wrong), some_topics);
    ASSERT_FALSE(status) << wrong;
    EXPECT_EQ(status.error().code, Errc::invalid);
    EXPECT_NE(status.error().detail.find("write one of redis.appendonly, redis.tls"), std::string::npos);
  }
  EXPECT_NE(check_topics(topics_in("redis.tsl"), some_topics).error().detail.find("accept=redis.tsl "),
            std::string::npos);
}

// "redis://ann:1?accept=canary@host": who forgot %40 has written a password there.
TEST(AcceptedTest, what_may_be_a_part_of_a_password_is_not_repeated) {
  for (const char* word : {"canary", "canary@localhost", "redis.canary@localhost"})
    EXPECT_EQ(check_topics(topics_in(word), some_topics).error().detail.find("canary"), std::string::npos);
}

}  // namespace
}  // namespace holdfast::core
