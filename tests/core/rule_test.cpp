// SPDX-License-Identifier: Apache-2.0
// What decide() tells a store to write, ring and log; what it answers is the contract's business, which the
// conformance tests play on every store.
#include "core/rule.h"

#include <gtest/gtest.h>

namespace holdfast::core {
namespace {

using namespace std::chrono_literals;
using Kept = Outcome::Place;

constexpr LeaseMoment at_ten{.now = 10s, .wall = 1000s, .purged = Token{7}};

Outcome acquire(Record& record, std::string_view owner, Millis place = 0ms, std::string_view client = "us") {
  return decide({.verb = Verb::acquire, .key = {"k"}, .owner = {owner}, .ttl = 5s, .place = place}, client,
                record, at_ten);
}

TEST(Rule, a_grant_changes_the_record_and_notifies_nobody) {
  Record record;
  const Outcome outcome = acquire(record, "ann");
  EXPECT_EQ(outcome.reply.verdict, Verdict::granted);
  EXPECT_TRUE(outcome.changed);
  EXPECT_EQ(outcome.place, Kept::untouched);
  EXPECT_FALSE(outcome.log);
  EXPECT_FALSE(outcome.ring);
  EXPECT_EQ(record.end, 15s);
  EXPECT_EQ(record.token, Token{1'000'000'000});
}

TEST(Rule, the_token_of_an_unknown_key_is_behind_all_that_were_purged) {
  Record record;
  const LeaseMoment early{.now = 10s, .wall = 0s, .purged = Token{7}};
  decide({.verb = Verb::acquire, .key = {"k"}, .owner = {"ann"}, .ttl = 5s}, "us", record, early);
  EXPECT_EQ(record.token, Token{8});
}

TEST(Rule, a_busy_key_is_written_only_to_keep_a_place) {
  Record record;
  acquire(record, "ann");
  EXPECT_FALSE(acquire(record, "bob").changed);
  EXPECT_EQ(acquire(record, "bob").place, Kept::untouched);
  EXPECT_EQ(acquire(record, "bob", 3s).place, Kept::kept);
  EXPECT_EQ(record.queue.size(), 1u);
  // Who only looks keeps the place that it has.
  const Outcome look = acquire(record, "bob");
  EXPECT_EQ(look.place, Kept::untouched);
  EXPECT_EQ(look.reply.ahead, 0u);
  EXPECT_EQ(record.queue.size(), 1u);
}

TEST(Rule, a_release_notifies_the_first_live_waiter) {
  Record record;
  acquire(record, "ann");
  record.queue = {{"gone", "old", 9s}, {"next", "bob", 12s}, {"later", "cat", 12s}};
  const Outcome outcome =
      decide({.verb = Verb::release, .key = {"k"}, .owner = {"ann"}}, "us", record, at_ten);
  EXPECT_EQ(outcome.reply.verdict, Verdict::released);
  EXPECT_TRUE(outcome.changed);
  EXPECT_EQ(outcome.ring, "next");
  EXPECT_EQ(record.queue.size(), 2u);
}

TEST(Rule, leaving_the_head_of_the_queue_of_a_free_key_notifies_the_next) {
  Record record;
  record.queue = {{"us", "ann", 12s}, {"next", "bob", 12s}};
  const Outcome outcome =
      decide({.verb = Verb::release, .key = {"k"}, .owner = {"ann"}, .place = 1ms}, "us", record, at_ten);
  EXPECT_EQ(outcome.reply.verdict, Verdict::lost);
  EXPECT_FALSE(outcome.changed);
  EXPECT_EQ(outcome.place, Kept::left);
  EXPECT_EQ(outcome.ring, "next");
}

Outcome acquire_of_short_places(Record& record) {
  return decide({.verb = Verb::acquire, .key = {"k"}, .owner = {"ann"}, .ttl = 5s, .longest_place = 3s}, "us",
                record, at_ten);
}

TEST(Rule, a_place_that_ends_later_than_any_of_ours_can_does_not_count) {
  Record record;
  record.queue = {{"dead", "bob", 14s}};
  EXPECT_EQ(acquire(record, "ann").reply.verdict, Verdict::busy);
  EXPECT_EQ(acquire_of_short_places(record).reply.verdict, Verdict::granted);
  EXPECT_TRUE(record.queue.empty());
}

TEST(Rule, a_place_that_ends_as_late_as_ours_can_counts) {
  Record record;
  record.queue = {{"dead", "bob", 14s}, {"next", "cat", 13s}};
  const Outcome outcome = acquire_of_short_places(record);
  EXPECT_EQ(outcome.reply.verdict, Verdict::busy);
  EXPECT_EQ(outcome.reply.remaining, 3s);
  EXPECT_EQ(record.queue.size(), 2u);  // it may be alive, and refresh its place
}

TEST(Rule, our_own_place_counts_however_late_it_ends) {
  Record record;
  record.queue = {{"us", "ann", 99s}, {"next", "cat", 13s}};
  EXPECT_EQ(acquire_of_short_places(record).reply.verdict, Verdict::granted);
  EXPECT_EQ(record.queue.size(), 1u);
}

TEST(Rule, a_take_over_is_logged_with_who_lost_it) {
  Record record{.owner = "old", .token = Token{3}, .end = 9s};
  const Outcome outcome = acquire(record, "ann");
  ASSERT_TRUE(outcome.log);
  EXPECT_EQ(outcome.log->event, "taken-over");
  EXPECT_EQ(outcome.log->owner, "old");
  EXPECT_EQ(outcome.log->token, Token{3});
  EXPECT_EQ(outcome.log->by, "ann");
}

TEST(Rule, an_eviction_is_logged_with_its_reason_and_notifies) {
  Record record;
  acquire(record, "ann");
  record.queue = {{"next", "bob", 12s}};
  const Outcome outcome =
      decide({.verb = Verb::evict, .key = {"k"}, .owner = {"op"}, .token = record.token, .note = "stuck"},
             "us", record, at_ten);
  ASSERT_TRUE(outcome.log);
  EXPECT_EQ(outcome.log->event, "broken");
  EXPECT_EQ(outcome.log->owner, "ann");
  EXPECT_EQ(outcome.log->reason, "stuck");
  EXPECT_EQ(outcome.ring, "next");
}

// The table of holdfast/spi/store.h, word by word.
struct TableRow {
  const char* name;
  Record record;
  Verdict acquire, renew, release, evict;  // asked for by "ann", of token 3
};

TEST(Rule, is_the_table_in_the_contract) {
  using enum Verdict;
  const auto held = [](const char* by, std::optional<Micros> end) {
    return Record{.owner = by, .token = Token{3}, .end = end};
  };
  const TableRow table[] = {
      {"absent", {}, granted, lost, lost, lost},
      {"free", held("", 9s), granted, lost, lost, lost},
      {"free since now", held("", 10s), granted, lost, lost, lost},
      {"ours, over", held("ann", 10s - 1us), granted, lost, lost, lost},
      {"ours, ends now", held("ann", 10s), granted, granted, released, released},
      {"ours, ends later", held("ann", 10s + 1us), granted, granted, released, released},
      {"ours, without end", held("ann", std::nullopt), granted, granted, released, released},
      {"theirs, over", held("bob", 10s - 1us), granted, lost, lost, lost},
      {"theirs, ends now", held("bob", 10s), busy, lost, lost, released},
      {"theirs, ends later", held("bob", 10s + 1us), busy, lost, lost, released},
      {"theirs, without end", held("bob", std::nullopt), busy, lost, lost, released}};
  for (const TableRow& row : table) {
    SCOPED_TRACE(row.name);
    const auto verdict = [&](Verb verb, Token token) {
      Record record = row.record;
      return decide({.verb = verb, .key = {"k"}, .owner = {"ann"}, .token = token, .ttl = 5s}, "us", record,
                    at_ten)
          .reply.verdict;
    };
    EXPECT_EQ(verdict(Verb::acquire, no_token), row.acquire);
    for (const Token token : {no_token, Token{3}}) {
      EXPECT_EQ(verdict(Verb::renew, token), row.renew);
      EXPECT_EQ(verdict(Verb::release, token), row.release);
    }
    EXPECT_EQ(verdict(Verb::evict, Token{3}), row.evict);
    for (const Verb verb : {Verb::renew, Verb::release, Verb::evict})
      EXPECT_EQ(verdict(verb, Token{4}), lost);
  }
}

TEST(Rule, the_last_microsecond_of_a_lease_is_a_millisecond_to_people) {
  Record record{.owner = "bob", .token = Token{3}, .end = 10s};
  EXPECT_EQ(acquire(record, "ann").reply.remaining, 1ms);
  record.end = 10s + 1999us;
  EXPECT_EQ(acquire(record, "ann").reply.remaining, 1ms);
  record.end = 10s + 2ms;
  EXPECT_EQ(acquire(record, "ann").reply.remaining, 2ms);
}

TEST(Rule, a_place_is_over_at_its_end) {
  Record record;
  record.queue = {{"next", "bob", 10s + 1us}};
  EXPECT_EQ(acquire(record, "ann").reply.verdict, Verdict::busy);
  record.queue = {{"next", "bob", 10s}};
  EXPECT_EQ(acquire(record, "ann").reply.verdict, Verdict::granted);
  EXPECT_TRUE(record.queue.empty());
}

TEST(Rule, a_lease_that_is_extended_without_measure_ends_all_the_same) {
  Record record;
  acquire(record, "ann");
  const Request more{
      .verb = Verb::renew, .key = {"k"}, .owner = {"ann"}, .ttl = Millis(never) - 1ms, .extend = true};
  for (int i = 0; i < 1'000'000; ++i) decide(more, "us", record, at_ten);
  ASSERT_TRUE(record.end);
  EXPECT_EQ(*record.end, latest_end);
  EXPECT_EQ(decide(more, "us", record, at_ten).reply.verdict, Verdict::granted);
}

}  // namespace
}  // namespace holdfast::core
