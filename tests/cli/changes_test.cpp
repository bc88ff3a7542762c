// SPDX-License-Identifier: Apache-2.0
// The changes between two snapshots and the log: pure, and a table.
#include "cli/see/changes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <clocale>
#include <nlohmann/json.hpp>

#include "cli/json.h"
#include "cli/see/store_poller.h"
#include "cli/terminal.h"
#include "holdfast/memory.h"
#include "tests/support/databases.h"

namespace holdfast::cli {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::IsEmpty;
using Texts = std::vector<std::string>;

constexpr Moment first_snapshot(1'763'208'000s);
constexpr auto first_instant = Instant(1h);

struct Held {
  std::string owner = "";
  std::uint64_t token = 0;
  Millis remaining = 0ms;
  std::uint32_t waiting = 0;
  std::string note = "";
};
LeaseRow row(const std::string& key, const Held& held) {
  return {.key = key,
          .owner = held.owner,
          .token = Token{held.token},
          .remaining = held.remaining,
          .since = {},
          .note = held.note,
          .detached = false,
          .waiting = held.waiting};
}
LogRow line(const std::string& event, const std::string& owner, std::uint64_t token, const std::string& by,
            const std::string& reason = "") {
  return {.at = first_snapshot + 1s,
          .key = "k",
          .event = event,
          .owner = owner,
          .token = Token{token},
          .by = by,
          .reason = reason};
}
Snapshot snapshot(int round, std::vector<LeaseRow> rows, std::vector<LogRow> new_log = {}) {
  return {.when = first_instant + round * 2s,
          .at = first_snapshot + round * 2s,
          .leases = std::move(rows),
          .new_log = std::move(new_log)};
}

std::string words(const Change& change) {
  return std::string(to_string(change.event)) + " " + change.key + ": " + sentence_of(change);
}
Texts words(const std::vector<Change>& changes) {
  Texts all;
  for (const Change& change : changes) all.push_back(words(change));
  return all;
}

struct Case {
  std::string name;
  std::vector<LeaseRow> before;
  std::vector<LeaseRow> now;
  std::vector<LogRow> new_log;
  Texts expected;
};
void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }

const Case cases[] = {
    {"nothing", {}, {}, {}, {}},
    {"acquired", {}, {row("k", {"a", 1, 30s})}, {}, {"acquired k: by a, token 1"}},
    {"acquired_what_was_free",
     {row("k", {"", 1})},
     {row("k", {"b", 2, 30s, 0, "why"})},
     {},
     {"acquired k: by b, token 2 (why)"}},
    {"grows_older", {row("k", {"a", 1, 30s})}, {row("k", {"a", 1, 28s})}, {}, {}},
    {"grows_older_and_the_answer_was_slow", {row("k", {"a", 1, 30s})}, {row("k", {"a", 1, 28400ms})}, {}, {}},
    {"renewed", {row("k", {"a", 1, 21s})}, {row("k", {"a", 1, 30s})}, {}, {"renewed k: by a, 30s left"}},
    {"renewed_and_yet_less_is_left",
     {row("k", {"a", 1, 6s})},
     {row("k", {"a", 1, 5500ms})},
     {},
     {"renewed k: by a, 5.5s left"}},
    {"without_end", {row("k", {"a", 1, endless_remaining})}, {row("k", {"a", 1, endless_remaining})}, {}, {}},
    {"released", {row("k", {"a", 1, 30s})}, {row("k", {"", 1})}, {}, {"released k: by a, token 1"}},
    {"released_and_the_row_is_gone", {row("k", {"a", 1, 30s})}, {}, {}, {"released k: by a, token 1"}},
    {"expired",
     {row("k", {"a", 1, 1s})},
     {row("k", {"a", 1})},
     {},
     {"expired k: lease of a, token 1; the key is free"}},
    {"died_long_before_its_time",
     {row("k", {"a", 1, 1h})},
     {row("k", {"a", 1})},
     {},
     {"expired k: lease of a, token 1; the key is free"}},
    {"expired_and_the_row_is_gone",
     {row("k", {"a", 1, 1s})},
     {},
     {},
     {"expired k: lease of a, token 1; the key is free"}},
    {"handed_on",
     {row("k", {"a", 1, 30s})},
     {row("k", {"b", 2, 30s})},
     {},
     {"released k: by a, token 1", "acquired k: by b, token 2"}},
    {"taken_again_under_the_same_name",
     {row("k", {"a", 1, 30s})},
     {row("k", {"a", 2, 30s})},
     {},
     {"released k: by a, token 1", "acquired k: by a, token 2"}},
    {"ran_out_and_taken_again_under_the_same_name",
     {row("k", {"a", 1, 1s})},
     {row("k", {"a", 2, 30s})},
     {},
     {"expired k: lease of a, token 1", "acquired k: by a, token 2"}},
    {"taken_over",
     {row("k", {"a", 1, 1s})},
     {row("k", {"b", 2, 30s})},
     {line("taken-over", "a", 1, "b", "expired")},
     {"taken-over k: by b from a, token 1: expired"}},
    {"taken_over_after_it_was_seen_to_have_run_out",
     {row("k", {"a", 1})},
     {row("k", {"b", 2, 30s})},
     {line("taken-over", "a", 1, "b")},
     {"taken-over k: by b from a, token 1"}},
    {"taken_over_twice_between_two_looks",
     {row("k", {"a", 1, 1s})},
     {row("k", {"c", 3, 30s})},
     {line("taken-over", "a", 1, "b"), line("taken-over", "b", 2, "c")},
     {"taken-over k: by b from a, token 1", "taken-over k: by c from b, token 2"}},
    {"taken_over_from_one_who_was_never_seen",
     {row("k", {"a", 1, 30s})},
     {row("k", {"c", 3, 30s})},
     {line("taken-over", "b", 2, "c")},
     {"released k: by a, token 1", "taken-over k: by c from b, token 2"}},
    {"broken",
     {row("k", {"a", 1, 30s})},
     {row("k", {"", 1})},
     {line("broken", "a", 1, "olga", "stuck")},
     {"broken k: by olga: stuck (was held by a, token 1)"}},
    {"broken_and_acquired",
     {row("k", {"a", 1, 30s, 1})},
     {row("k", {"b", 2, 30s})},
     {line("broken", "a", 1, "olga", "stuck")},
     {"broken k: by olga: stuck (was held by a, token 1)", "acquired k: by b, token 2"}},
    {"waits", {row("k", {"a", 1, 30s})}, {row("k", {"a", 1, 28s, 2})}, {}, {"waiting k: 2 wait for a"}},
    {"left", {row("k", {"a", 1, 30s, 2})}, {row("k", {"a", 1, 28s, 1})}, {}, {"left k: only 1 waits"}},
    {"who_is_granted_the_key_has_not_left",
     {row("k", {"a", 1, 30s, 2})},
     {row("k", {"b", 2, 30s, 1})},
     {},
     {"released k: by a, token 1", "acquired k: by b, token 2"}},
    {"one_is_granted_and_one_left",
     {row("k", {"a", 1, 30s, 2})},
     {row("k", {"b", 2, 30s})},
     {},
     {"released k: by a, token 1", "acquired k: by b, token 2", "left k: nobody waits any more"}},
    {"who_has_taken_over_has_not_left",
     {row("k", {"a", 1, 1s, 2})},
     {row("k", {"b", 2, 30s, 1})},
     {line("taken-over", "a", 1, "b")},
     {"taken-over k: by b from a, token 1"}},
    {"note",
     {row("k", {"a", 1, 30s, 0, "one"})},
     {row("k", {"a", 1, 28s, 0, "two\n"})},
     {},
     {"note k: two\\x0a"}},
    {"of_two_keys",
     {row("a", {"x", 1, 30s})},
     {row("a", {"", 1}), row("b", {"y", 2, 30s})},
     {},
     {"released a: by x, token 1", "acquired b: by y, token 2"}},
};

class Changes : public ::testing::TestWithParam<Case> {};

TEST_P(Changes, are_reported_once) {
  ChangeTracker tracker;
  tracker.update(snapshot(0, GetParam().before));
  EXPECT_THAT(words(tracker.update(snapshot(1, GetParam().now, GetParam().new_log))),
              ElementsAreArray(GetParam().expected));
  EXPECT_THAT(tracker.update(snapshot(1, GetParam().now)), IsEmpty()) << "once";
}

INSTANTIATE_TEST_SUITE_P(All, Changes, ::testing::ValuesIn(cases),
                         [](const auto& param_info) { return param_info.param.name; });

TEST(ChangeTracker, first_reports_the_keys_that_are_held) {
  ChangeTracker tracker;
  EXPECT_THAT(words(tracker.update(snapshot(0, {row("a", {"x", 1, 30s, 1, "why"}), row("b", {"", 4}),
                                                row("c", {"host:h pid:7 guid:00", 3, endless_remaining}),
                                                row("d", {"was", 2, 0ms, 2})}))),
              ElementsAre("holds a: held by x, 30s left, token 1, 1 waits (why)",
                          "holds c: held by h pid 7, without end, token 3", "waiting d: 2 wait"));
}

// The log is read after the listing, and somebody may break the lease in between.
TEST(ChangeTracker, reports_a_log_line_newer_than_the_listing_with_the_next_one_and_once) {
  ChangeTracker tracker;
  tracker.update(snapshot(0, {row("k", {"a", 1, 30s})}));
  EXPECT_THAT(tracker.update(snapshot(1, {row("k", {"a", 1, 28s})}, {line("broken", "a", 1, "olga", "x")})),
              IsEmpty());
  EXPECT_THAT(words(tracker.update(snapshot(2, {row("k", {"b", 2, 30s})}))),
              ElementsAre("broken k: by olga: x (was held by a, token 1)", "acquired k: by b, token 2"));
  EXPECT_THAT(tracker.update(snapshot(3, {row("k", {"b", 2, 28s})})), IsEmpty());
}

TEST(ChangeTracker, reports_the_times_that_the_store_recorded) {
  ChangeTracker tracker;
  tracker.update(snapshot(0, {row("a", {"x", 1, 500ms}), row("k", {"y", 2, 1s})}));
  LeaseRow later = row("k", {"z", 3, 30s});
  later.since = first_snapshot + 1500ms;
  const auto changes = tracker.update(snapshot(1, {row("a", {"x", 1}), later}));
  ASSERT_EQ(changes.size(), 3u);
  EXPECT_EQ(changes[0].at, first_snapshot + 500ms) << words(changes[0]);
  EXPECT_EQ(changes[1].at, first_snapshot + 1s) << words(changes[1]);
  EXPECT_EQ(changes[2].at, first_snapshot + 1500ms) << words(changes[2]);
}

TEST(ChangeTracker, reports_hand_overs_in_the_order_of_their_times) {
  ChangeTracker tracker;
  tracker.update(snapshot(0, {row("a", {"x", 1, 30s}), row("k", {"y", 2, 500ms})}));
  LeaseRow later = row("a", {"z", 3, 30s});
  later.since = first_snapshot + 1500ms;
  const auto changes = tracker.update(snapshot(1, {later, row("k", {"y", 2})}));
  EXPECT_THAT(words(changes), ElementsAre("expired k: lease of y, token 2; the key is free",
                                          "released a: by x, token 1", "acquired a: by z, token 3"));
  EXPECT_EQ(changes.at(1).at, first_snapshot + 1500ms);
}

TEST(ChangeTracker, tells_grants_without_a_token_apart_by_their_start) {
  ChangeTracker tracker;
  LeaseRow foreign = row("k", {"a", 0, 30s});
  foreign.since = first_snapshot - 1s;
  tracker.update(snapshot(0, {foreign}));
  EXPECT_THAT(tracker.update(snapshot(1, {foreign})),
              ElementsAre(::testing::Field(&Change::event, Event::renewed)));
  foreign.since = first_snapshot + 3s;
  EXPECT_THAT(words(tracker.update(snapshot(2, {foreign}))),
              ElementsAre("released k: by a", "acquired k: by a"));
}

// ---- which lines of the log are new

class Log : public ::testing::Test {
 protected:
  void write(int number, Moment at = first_snapshot) {
    LogRow written = line("taken-over", "a", static_cast<std::uint64_t>(number), "b");
    written.at = at;
    log_.insert(log_.begin(), written);
  }
  std::vector<int> new_log() {
    std::vector<int> tokens;
    const auto rows = log_cursor_.next([&](std::size_t limit) -> Result<std::vector<LogRow>> {
      const auto many = static_cast<std::ptrdiff_t>(std::min(limit, log_.size()));
      return std::vector<LogRow>(log_.begin(), log_.begin() + many);
    });
    for (const LogRow& found : *rows) tokens.push_back(static_cast<int>(to_number(found.token)));
    return tokens;
  }
  std::vector<LogRow> log_;  // newest first
  LogCursor log_cursor_;
};

TEST_F(Log, begins_with_none_and_hands_out_each_line_once) {
  write(1);
  EXPECT_THAT(new_log(), IsEmpty());
  write(2);
  write(3);
  EXPECT_THAT(new_log(), ElementsAre(2, 3));
  EXPECT_THAT(new_log(), IsEmpty());
}

TEST_F(Log, that_was_empty_at_first_is_new_altogether) {
  EXPECT_THAT(new_log(), IsEmpty());
  for (int i = 1; i <= 250; ++i) write(i);
  EXPECT_EQ(new_log().size(), 250u);
}

TEST_F(Log, of_thousands_of_lines_between_two_reads_loses_and_doubles_none) {
  for (int i = 1; i <= 600; ++i) write(i);
  EXPECT_THAT(new_log(), IsEmpty());
  for (int i = 601; i <= 2000; ++i) write(i);
  const auto found = new_log();
  ASSERT_EQ(found.size(), 1400u);
  EXPECT_EQ(found.front(), 601);
  EXPECT_EQ(found.back(), 2000);
  EXPECT_THAT(new_log(), IsEmpty());
}

TEST_F(Log, whose_clock_goes_back_or_that_has_equal_rows_is_read_right) {
  write(1, first_snapshot);
  EXPECT_THAT(new_log(), IsEmpty());
  write(2, first_snapshot - 1h);
  write(2, first_snapshot - 1h);
  EXPECT_THAT(new_log(), ElementsAre(2, 2));
  write(2, first_snapshot - 1h);
  EXPECT_THAT(new_log(), ElementsAre(2));
}

TEST_F(Log, that_was_purged_repeats_nothing) {
  for (int i = 1; i <= 5; ++i) write(i, first_snapshot + i * 1s);
  EXPECT_THAT(new_log(), IsEmpty());
  log_.resize(2);
  EXPECT_THAT(new_log(), IsEmpty());
  log_.clear();
  write(6, first_snapshot + 6s);
  EXPECT_THAT(new_log(), ElementsAre(6));
}

// As when all of one busy key is purged: what lay further back than we ever read is not new.
TEST_F(Log, of_which_only_old_lines_are_left_has_nothing_new) {
  for (int i = 1; i <= 150; ++i) write(i, first_snapshot + i * 1s);
  EXPECT_THAT(new_log(), IsEmpty());
  log_.erase(log_.begin(), log_.begin() + 100);
  EXPECT_THAT(new_log(), IsEmpty());
}

// ---- as JSON

TEST(AsJson, a_token_that_nobody_knows_is_null_in_the_log_too) {
  Inspection found;
  found.lease = row("k", {});
  found.log = {line("broken", "a", 0, "me"), line("broken", "b", 7, "me")};
  const auto json = nlohmann::json::parse(json_of(found));
  EXPECT_TRUE(json["token"].is_null());
  EXPECT_TRUE(json["log"][0]["token"].is_null());
  EXPECT_EQ(json["log"][1]["token"], 7);
}

// ---- on a terminal

TEST(InPlace, cuts_lines_between_characters_and_counts_the_lines_that_do_not_fit) {
  std::setlocale(LC_CTYPE, "C.UTF-8");
  EXPECT_EQ(in_place("one\ntwo", {24, 80}, false), "\033[Hone\033[K\ntwo\033[K\033[J");
  EXPECT_EQ(in_place("één", {24, 4}, false), "\033[Héén\033[K\033[J");
  EXPECT_EQ(in_place("één", {24, 3}, false), "\033[Hé~\033[K\033[J") << "one in the last column could wrap";
  EXPECT_EQ(in_place("東京東京", {24, 6}, false), "\033[H東京~\033[K\033[J");
  EXPECT_EQ(in_place("1\n2\n3\n4", {4, 80}, false), "\033[H1\033[K\n2\033[K\nand 2 more\033[K\033[J");
  EXPECT_EQ(in_place("1\n2\n3", {1, 1}, true), "\033[H\033[K\033[J");
}

// -- pages

// Of many keys that are held, without their making.
class Full final : public StoreConnection {
 public:
  Full(int keys, int& pages) : keys_(keys), pages_(pages) {}
  Status apply(std::span<const Request>, std::span<Reply>, Instant) override { return Status{}; }
  Result<Page> list(const Query& query, Instant) override {
    ++pages_;
    Page page;
    const int after = query.after.empty() ? 0 : std::stoi(std::string(query.after));
    for (int i = after + 1; i <= keys_ && page.leases.size() < query.limit; ++i)
      page.leases.push_back(row(std::to_string(i), {.owner = "ann"}));
    return page;
  }
  Result<Traits> examine(Instant) override { return Traits{}; }

 private:
  const int keys_;
  int& pages_;
};

TEST(Listed, a_hundred_thousand_held_keys_are_a_few_pages) {
  int pages = 0;
  Client client = Client::try_make(test::wrapped(memory::store(memory::make_database()),
                                                 [&](std::unique_ptr<StoreConnection>) {
                                                   return std::make_unique<Full>(100'000, pages);
                                                 }))
                      .value();
  Admin by_hand(client);
  EXPECT_EQ(all_leases(by_hand, "").value().size(), 100'000u);
  EXPECT_LE(pages, 3) << "each may cost a reading of the whole table";
}

}  // namespace
}  // namespace holdfast::cli
