// SPDX-License-Identifier: Apache-2.0
// What `top` shows: without a terminal.
#include <gmock/gmock.h>

#include "tests/cli/top.h"

namespace holdfast::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;
using TopScreen = TopModel;

// ---- the lag

TEST_F(TopScreen, lag_counts_from_the_last_renewal_that_was_seen) {
  const auto row = [&] { return model_.rows().front(); };
  const auto left = [&](Millis remaining, Millis later) {
    update({lease("k", "h", remaining, noon)}, later);
  };
  left(22s, 1s);
  EXPECT_FALSE(row().renewed);
  left(21s, 1s);
  EXPECT_EQ(row().lag(), 1s) << "at least";
  EXPECT_THAT(text(), HasSubstr(">1s"));
  left(29500ms, 1s);
  EXPECT_TRUE(row().renewed);
  EXPECT_EQ(row().lag(), 0s);
  left(20s, 9500ms);
  EXPECT_EQ(row().lag(), 9500ms);
  EXPECT_EQ(style_of_lag(row()), Style::good) << "a third: it is renewed about now";
  left(15s, 5s);
  EXPECT_EQ(style_of_lag(row()), Style::doubtful);
  left(8s, 7s);
  EXPECT_EQ(style_of_lag(row()), Style::bad);
  left(29s, 1s);
  EXPECT_EQ(row().lag(), 500ms) << "renewed since, and the ttl is as ever";
  EXPECT_EQ(style_of_lag(row()), Style::good);
  update({lease("k", "another", 10s, noon)}, 1s);
  EXPECT_FALSE(row().renewed) << "another grant";
  EXPECT_EQ(row().lag(), 0s);
}

TEST_F(TopScreen, has_a_bar_of_what_is_left) {
  update({lease("k", "h", 20s, noon)});
  EXPECT_THAT(text(), HasSubstr("[||||||||||]"));
  update({lease("k", "h", 5s, noon)}, 15s);
  EXPECT_THAT(text(), HasSubstr("[||        ]"));
}

TEST_F(TopScreen, marks_the_selected_row_and_free_keys_by_their_style) {
  update({lease("a", "h", 10s, noon), lease("w", "", 0ms, {}, 1)});
  const auto style = [&](std::size_t line) {
    return screen_of(model_, {12, 100}, noon).lines.at(line).front().style;
  };
  EXPECT_EQ(style(2), Style::chosen);
  EXPECT_EQ(style(3), Style::faint);
  press("j");
  EXPECT_EQ(style(2), Style::plain);
  EXPECT_EQ(style(3), Style::chosen);
  model_.set_unreachable("gone");
  EXPECT_EQ(style(2), Style::faint) << "nobody knows whether it is still so";
}

TEST_F(TopScreen, has_the_cursor_behind_what_is_typed) {
  EXPECT_FALSE(screen_of(model_, {12, 100}, noon).cursor);
  press("/wé");
  EXPECT_EQ(screen_of(model_, {12, 100}, noon).cursor, 3u);
}

TEST_F(TopScreen, of_a_break_has_note_and_how_many_wait) {
  press("<end>b");
  EXPECT_THAT(text(), HasSubstr("note     slow"));
  EXPECT_THAT(text(), HasSubstr("waiting  3"));
}

TEST_F(TopScreen, of_a_break_says_when_the_holder_learns_of_it) {
  press("<end>b");
  EXPECT_THAT(text(200, 24), HasSubstr("next renewal (usually within ttl/3), at most for another 20s."));
  press("<esc>");
  update({lease("k", "h", endless_remaining, noon)});
  press("b");
  EXPECT_THAT(text(200, 24), HasSubstr("learns of the break only when it releases."));
}

TEST_F(TopScreen, of_two_rows_has_the_chosen_key) { EXPECT_THAT(screen(80, 2).front(), StartsWith("b ")); }

TEST_F(TopScreen, whoever_need_not_renew_has_no_lag) {
  LeaseRow by_hand = lease("k", "h", 30s, noon);
  by_hand.detached = true;
  update({by_hand, lease("n", "h", endless_remaining, noon)});
  for (const TopRow& row : model_.rows()) EXPECT_EQ(style_of_lag(row), Style::plain);
  EXPECT_THAT(text(), HasSubstr("(detached)"));
  EXPECT_THAT(text(), HasSubstr("no end"));
}

// ---- the screen

TEST_F(TopScreen, has_a_line_for_each_key) {
  const Texts lines = screen(100, 6);
  ASSERT_EQ(lines.size(), 6u);
  EXPECT_EQ(lines[0], "holdfast top  12:00:00Z  3 held, 4 waiting, by age  sqlite:leases.db");
  EXPECT_THAT(lines[1],
              StartsWith("KEY       HOLDER          HELD                   LEFT  WAIT     LAG  NOTE"));
  EXPECT_THAT(lines[2], StartsWith("b         me                1h  [||||||||||]      30s     1    >0ms"));
  EXPECT_THAT(lines[3], StartsWith("a         web1 pid 1        1m  [||||||||||]      10s     -    >0ms"));
  EXPECT_THAT(lines[4],
              StartsWith("c         you               1s  [||||||||||]      20s     3    >0ms  slow"));
  EXPECT_THAT(lines[5], StartsWith("Enter inspect"));
}

TEST_F(TopScreen, shows_the_chosen_one_also_when_there_are_too_many) {
  press("<end>");
  EXPECT_THAT(text(80, 4), HasSubstr("c   "));
  EXPECT_THAT(text(80, 4), Not(HasSubstr("b   ")));
}

TEST_F(TopScreen, of_any_size_is_no_larger_than_that) {
  update({lease(std::string(600, 'x'), "東京東京東京東京東京東京東京", 10s, noon - 1min, 12),
          lease("\x1b[31m\xff", "host:a\nb pid:1 guid:0", 1h, noon), lease("é", "", 0ms, {}, 1)});
  for (const char* keys : {"", "/abc", "<esc>b", "why<enter>", "<esc><enter>", "<esc>?"}) {
    press(keys);
    if (model_.mode() == Model::Mode::inspect)
      model_.update(Inspection{model_.rows().front().lease, {{"k", "c", std::string(300, 'w'), 1s}}, {}});
    for (std::size_t columns = 0; columns < 130; columns += columns < 30 ? 1 : 7) {
      for (const std::size_t rows : {0u, 1u, 2u, 3u, 4u, 5u, 10u, 24u}) text(columns, rows);
    }
  }
  EXPECT_THAT(text(), Not(HasSubstr("\x1b")));
}

TEST_F(TopScreen, of_twenty_columns_has_key_and_what_is_left) {
  const Texts lines = screen(20, 5);
  ASSERT_EQ(lines.size(), 5u);
  EXPECT_EQ(lines[0], "12:00:00Z  3 held, ~");
  EXPECT_THAT(lines[1], StartsWith("KEY          LEFT"));
  EXPECT_THAT(lines[2], StartsWith("b             30s"));
  EXPECT_THAT(lines[3], StartsWith("a             10s"));
  EXPECT_EQ(lines[4], "Enter inspect  b br~");
}

TEST_F(TopScreen, keeps_the_last_rows_and_shows_why_when_the_store_is_unreachable) {
  model_.set_unreachable("cannot reach the store");
  EXPECT_THAT(text(), HasSubstr("web1 pid 1"));
  EXPECT_EQ(screen().back(), "cannot reach the store; trying again");
  update({});
  EXPECT_THAT(text(), Not(HasSubstr("trying again")));
}

TEST_F(TopScreen, of_an_inspection_has_queue_and_log) {
  press("j<enter>");
  EXPECT_THAT(text(), HasSubstr("reading a"));
  model_.update(Inspection{model_.rows()[1].lease,
                           {{"a", "c", "host:web2 pid:5 guid:1", 1s}},
                           {{noon, "a", "broken", "me", Token{3}, "olga", "stuck"}}});
  EXPECT_THAT(text(), HasSubstr("waiting 1             web2 pid 5"));
  EXPECT_THAT(text(), HasSubstr("broken by olga: stuck (was held by me)"));
  EXPECT_THAT(text(100, 4), Not(HasSubstr("broken by")));
  for (int i = 0; i < 20; ++i) press("j");
  model_.limit_scroll(screen_of(model_, {4, 100}, noon).most_scroll);
  EXPECT_THAT(text(100, 4), HasSubstr("broken by"));
}

TEST(TopColumns, count_what_a_terminal_counts) {
  std::setlocale(LC_CTYPE, "C.UTF-8");
  EXPECT_EQ(columns_of("é"), 1u);
  EXPECT_EQ(columns_of("東京"), 4u);
  EXPECT_EQ(columns_of("e\u0301"), 1u);
  EXPECT_EQ(fitted("東京", 3), "東~");
  EXPECT_EQ(fitted("東京", 2), "~ ");
  EXPECT_EQ(fitted("ab", 4), "ab  ");
  EXPECT_EQ(fitted_right("ab", 4), "  ab");
  EXPECT_EQ(tail("abcdef", 3), "def");
  EXPECT_THAT(wrapped("one two three", 8), ElementsAre("one two", "three"));
  EXPECT_THAT(wrapped("abcdefgh", 3), ElementsAre("abc", "def", "gh"));
  std::setlocale(LC_CTYPE, "C");
  EXPECT_EQ(fitted("é", 2), "? ");
}

}  // namespace
}  // namespace holdfast::cli
