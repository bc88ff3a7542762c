// SPDX-License-Identifier: Apache-2.0
#include "bench/chart.h"

#include <gmock/gmock.h>

#include "bench/svg.h"

namespace holdfast::bench {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(Chart, text_is_escaped) {
  EXPECT_EQ(escaped("a < b & \"c\" > d"), "a &lt; b &amp; &quot;c&quot; &gt; d");
  const std::string drawn =
      draw(BarChart{.title = "<run> & co", .note = "", .axis = "us", .bars = {{"a & b", spread_of({1})}}});
  EXPECT_THAT(drawn, HasSubstr("&lt;run&gt; &amp; co"));
  EXPECT_THAT(drawn, HasSubstr("a &amp; b"));
  EXPECT_THAT(drawn, Not(HasSubstr("a & b")));
}

TEST(Chart, a_bar_chart_names_its_bars_its_axis_and_its_colours) {
  const std::string drawn =
      draw(BarChart{.title = "t",
                    .note = "n",
                    .axis = "pairs/s",
                    .bars = {{"one", spread_of({1})}, {"two", spread_of({3}), Role::reference}}});
  for (const char* word : {">one<", ">two<", ">pairs/s<", ">ours<", ">by hand<"})
    EXPECT_THAT(drawn, HasSubstr(word));
  EXPECT_THAT(drawn, Not(HasSubstr(">the floor<")));
}

TEST(Chart, a_line_chart_names_its_lines_and_both_axes) {
  LineChart chart{.title = "t", .note = "n", .x_axis = "threads", .y_axis = "pairs/s", .lines = {}};
  chart.lines = {{"shared", Role::ours, {{1, spread_of({5})}, {64, spread_of({9})}}}};
  const std::string drawn = draw(chart);
  for (const char* word : {">shared<", ">threads<", ">pairs/s<", ">64<"}) EXPECT_THAT(drawn, HasSubstr(word));
}

TEST(Chart, is_readable_on_dark_pages_too) {
  EXPECT_THAT(draw(BarChart{.title = "t", .note = "", .axis = "x", .bars = {{"one", spread_of({1})}}}),
              HasSubstr("prefers-color-scheme: dark"));
}

TEST(Overview, shows_cheaper_and_more_expensive_whichever_is_better) {
  Report report;
  report.figures = {compare({"fast", {20}}, {"slow", {10}}, "pairs/s", Better::more),
                    compare({"long", {20}}, {"short", {10}}, "us", Better::less),
                    compare({"like", {10, 9}}, {"like", {9, 10}}, "us", Better::less)};
  const BarChart chart = overview({{"w", report}});
  ASSERT_EQ(chart.bars.size(), 3u);
  EXPECT_EQ(chart.bars[0].value.median, 0.5);
  EXPECT_EQ(chart.bars[0].role, Role::part_of_ours);
  EXPECT_EQ(chart.bars[1].value.median, 2);
  EXPECT_EQ(chart.bars[1].role, Role::reference);
  EXPECT_EQ(chart.bars[2].role, Role::floor);
}

}  // namespace
}  // namespace holdfast::bench
