// SPDX-License-Identifier: Apache-2.0
// command.cpp - what the command costs, and which part of it costs what.
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <stdexcept>

#include "bench/workload.h"
#include "tests/support/scratch.h"

namespace holdfast::bench {
namespace {

using Words = std::vector<std::string>;

void run_once(Words words) {
  std::vector<char*> argv;
  for (auto& w : words) argv.push_back(w.data());
  argv.push_back(nullptr);
  posix_spawn_file_actions_t silent;
  posix_spawn_file_actions_init(&silent);
  posix_spawn_file_actions_addopen(&silent, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  pid_t child = 0;
  const int failure = posix_spawnp(&child, argv[0], &silent, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&silent);
  if (failure != 0) throw std::runtime_error("cannot run " + words[0]);
  int status = 0;
  waitpid(child, &status, 0);
  if (status != 0) throw std::runtime_error(words[0] + " failed");
}

}  // namespace

Report run_command(const Effort& effort) {
  const test::Scratch folder;
  const std::string store = "sqlite:" + folder.path() + "/ours.db";
  const auto holdfast = [&](Words words) {
    words.insert(words.begin(), {effort.holdfast, "--store", store});
    return words;
  };
  // Few at a time and many rounds: a process is short, and a neighbour's burst shorter than a long slice.
  const int times = effort.quick ? 1 : 3, rounds = effort.quick ? 3 : 31;
  const auto timed = [&](std::vector<Words> commands) {
    return [commands = std::move(commands), times] {
      Series micros;
      for (int i = 0; i < times; ++i) {
        const Instant start = BootClock::now();
        for (const Words& words : commands) run_once(words);
        micros.push_back(seconds_since(start) * 1e6);
      }
      return spread_of(std::move(micros)).median;
    };
  };
  const Contestant contestants[] = {
      {"holdfast run k -- true", timed({holdfast({"run", "k", "--", "true"})})},
      {"flock f true", timed({{"flock", folder.path() + "/f", "true"}})},
      {"true", timed({{"true"}})},
      {"holdfast version", timed({holdfast({"version"})})},
      {"holdfast ls", timed({holdfast({"ls"})})},
      {"holdfast acquire + release", timed({holdfast({"acquire", "--owner", "me", "by-hand"}),
                                            holdfast({"release", "--owner", "me", "by-hand"})})},
  };
  run_once(holdfast({"ls"}));  // makes the file, which is not what we measure
  const auto found = take_turns(effort, rounds, contestants);
  const Named &run = found[0], &flock = found[1], &bare = found[2], &version = found[3], &ls = found[4],
              &by_hand = found[5];
  const auto bar = [](const Named& n, Role role) { return Bar{n.name, spread_of(n.series), role}; };
  BarChart chart{
      .title = "What the command costs",
      .note = "from posix_spawn to the exit code; whiskers: quartiles of the rounds",
      .axis = "microseconds",
      .bars = {bar(run, Role::ours), bar(by_hand, Role::part_of_ours), bar(ls, Role::part_of_ours),
               bar(version, Role::part_of_ours), bar(flock, Role::reference), bar(bare, Role::floor)}};
  return {.figures = {compare(run, flock, "us", Better::less), compare(run, bare, "us", Better::less),
                      compare(version, bare, "us", Better::less), compare(ls, version, "us", Better::less),
                      compare(by_hand, flock, "us", Better::less), compare(run, version, "us", Better::less)},
          .charts = {{"command", std::move(chart)}}};
}

}  // namespace holdfast::bench
