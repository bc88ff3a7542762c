// SPDX-License-Identifier: Apache-2.0
#include "bench/record.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

namespace holdfast::bench {
namespace {

using testing::HasSubstr;

Run::Done some_workload() {
  Report report;
  report.figures = {compare({"ours", {10, 20, 30}}, {"theirs", {10, 10, 10}}, "pairs/s", Better::more)};
  report.charts.emplace_back("pairs", BarChart{});
  return {.name = "pairs",
          .sentence = "A sentence.",
          .store = "PostgreSQL 15",
          .report = std::move(report),
          .seconds = 1};
}

TEST(Record, has_the_machine_the_seed_and_every_figure_with_its_spread) {
  bench::Run run;
  run.machine.cores = 2;
  run.machine.load_before = 0.5;
  run.effort.seed = 42;
  run.workloads = {some_workload()};
  const auto json = nlohmann::json::parse(to_json(run));
  EXPECT_EQ(json["seed"], 42);
  EXPECT_EQ(json["machine"]["cores"], 2);
  EXPECT_EQ(json["machine"]["load_before"], 0.5);
  const auto& workload = json["workloads"][0];
  EXPECT_EQ(workload["charts"][0], "pairs.svg");
  const auto& figure = workload["figures"][0];
  EXPECT_EQ(figure["value"], 20);
  EXPECT_EQ(figure["reference"], 10);
  EXPECT_EQ(figure["unit"], "pairs/s");
  EXPECT_EQ(figure["better"], "more");
  EXPECT_EQ(figure["ratio"], 2);
  EXPECT_EQ(figure["spread"]["low"], 1.5);
  EXPECT_EQ(figure["spread"]["max"], 3);
}

TEST(Record, what_was_skipped_and_left_out_is_said_with_its_reason) {
  bench::Run run;
  run.workloads = {some_workload()};
  run.workloads[0].report.notes = {"something is left out"};
  run.skipped = {{.name = "pairs-redis", .why = "no server"}};
  const auto json = nlohmann::json::parse(to_json(run));
  EXPECT_EQ(json["skipped"][0]["name"], "pairs-redis");
  EXPECT_EQ(json["skipped"][0]["why"], "no server");
  EXPECT_EQ(json["workloads"][0]["notes"][0], "something is left out");
  EXPECT_EQ(json["workloads"][0]["store"], "PostgreSQL 15");
  EXPECT_THAT(to_table(run.workloads[0]), HasSubstr("something is left out"));
  EXPECT_EQ(to_table(run.skipped[0]), "pairs-redis: skipped: no server\n");
}

TEST(Record, the_table_has_a_line_for_each_figure) {
  const std::string table = to_table(some_workload());
  EXPECT_THAT(table, HasSubstr("pairs: A sentence. [PostgreSQL 15]"));
  EXPECT_THAT(table, HasSubstr("ours       20 pairs/s"));
  EXPECT_THAT(table, HasSubstr("ratio   2.00  (1.50 .. 2.50, more is better)"));
}

}  // namespace
}  // namespace holdfast::bench
