// SPDX-License-Identifier: Apache-2.0
// holdfast_bench [WORKLOAD...]: measures, prints a table, writes a record and pictures.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <fstream>

#include "base/random.h"
#include "bench/chart.h"
#include "bench/record.h"
#include "bench/workload.h"

namespace holdfast::bench {
namespace {

constexpr int exit_failed = 1, exit_usage = 64;

struct RunRequest {
  std::vector<std::string> names;
  std::string out = "build/bench";
  bool list = false, instructions = false;
  std::string repeat;
  int times = 1;
  Effort effort{.seed = random_bits() % 1'000'000};
};

std::string own_path() {
  std::array<char, 4096> path;
  const ssize_t length = readlink("/proc/self/exe", path.data(), path.size());
  return std::string(path.data(), static_cast<std::size_t>(std::max<ssize_t>(length, 0)));
}

int list() {
  for (const Workload& w : all_workloads())
    std::printf("%-20s %s\n", std::string(w.name).c_str(), std::string(w.sentence).c_str());
  return 0;
}

// In the order of the list, each once.
std::vector<Workload> chosen(const RunRequest& request) {
  if (request.instructions) return {instructions_workload};
  std::vector<Workload> result;
  for (const Workload& w : all_workloads()) {
    const bool named = std::find(request.names.begin(), request.names.end(), w.name) != request.names.end();
    if (request.names.empty() || named) result.push_back(w);
  }
  return result;
}

void write_file(const std::filesystem::path& path, const std::string& text) {
  std::ofstream file(path);
  file << text << std::flush;
  if (!file) throw std::runtime_error("cannot write " + path.string());
}

// A picture of the same thing on another store has its own name.
void name_charts(Run::Done& done, std::string_view store) {
  if (store == "sqlite") return;
  for (auto& [name, chart] : done.report.charts) name += "-" + std::string(store);
}

int measure(const RunRequest& request) {
  Run run{.machine = this_machine(), .effort = request.effort, .workloads = {}};
  Subjects subjects;
  std::filesystem::create_directories(request.out);
  const std::filesystem::path out(request.out);
  std::printf("%d cores, %s, %s, SQLite %s, load %.2f, seed %llu\n", run.machine.cores,
              run.machine.kernel.c_str(), run.machine.compiler.c_str(), run.machine.sqlite.c_str(),
              run.machine.load_before, static_cast<unsigned long long>(request.effort.seed));
  std::vector<std::pair<std::string, Report>> reports;
  for (const Workload& w : chosen(request)) {
    if (const std::string why = subjects.missing(w.store); !why.empty()) {
      run.skipped.push_back({std::string(w.name), why});
      std::printf("\n%s", to_table(run.skipped.back()).c_str());
      continue;
    }
    Subject& subject = subjects.of(w.store);
    const Instant start = BootClock::now();
    Run::Done done{std::string(w.name), std::string(w.sentence), subject.naming().store,
                   w.run(request.effort, subject)};
    done.seconds = seconds_since(start);
    name_charts(done, w.store);
    std::printf("\n%s", to_table(done).c_str());
    std::fflush(stdout);
    for (const auto& [name, chart] : done.report.charts) write_file(out / (name + ".svg"), draw(chart));
    reports.emplace_back(done.name, done.report);
    run.workloads.push_back(std::move(done));
  }
  if (!request.instructions) write_file(out / "overview.svg", draw(overview(reports)));
  write_file(out / (request.instructions ? "instructions.json" : "bench.json"), to_json(run));
  std::printf("\nThe record and the pictures are in %s\n", request.out.c_str());
  return 0;
}

int bench_main(int argc, char** argv) {
  RunRequest request;
  std::vector<std::string> known;
  for (const Workload& w : all_workloads()) known.emplace_back(w.name);
  CLI::App app("Measures Holdfast beside what one would do by hand; every figure is a ratio within one run.");
  app.option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  app.add_option("WORKLOAD", request.names, "which to run; all if none is given")
      ->check(CLI::IsMember(known))
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  app.add_flag("--list", request.list, "say what there is, a sentence each");
  app.add_option("--out", request.out, "where the record and the pictures go")->capture_default_str();
  app.add_flag("--quick", request.effort.quick, "a moment for each: shows that it works, not how fast");
  app.add_option("--seed", request.effort.seed, "the order in which contestants take their turns");
  app.add_option("--keys", request.effort.keys, "how many keys list-many makes known (a million)")
      ->check(CLI::Range(2'000, 9'999'999));
  app.add_flag("--instructions", request.instructions, "count instructions instead, by valgrind's callgrind");
  app.add_option("--repeat", request.repeat, "what runs under callgrind")->group("");
  app.add_option("--times", request.times, "how often")->group("");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    return app.exit(e) == 0 ? 0 : exit_usage;
  }
  if (request.list) return list();
  if (!request.repeat.empty()) {
    repeat_operation(request.repeat, request.times);
    return 0;
  }
  request.effort.self = own_path();
  request.effort.holdfast = std::filesystem::path(request.effort.self).replace_filename("holdfast").string();
  return measure(request);
}

}  // namespace
}  // namespace holdfast::bench

int main(int argc, char** argv) {
  try {
    return holdfast::bench::bench_main(argc, argv);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "holdfast_bench: %s\n", e.what());
    return holdfast::bench::exit_failed;
  }
}
