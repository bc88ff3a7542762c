// SPDX-License-Identifier: Apache-2.0
// fleet.h - a few workers at one store, each in a process of its own.
#pragma once
#include <gtest/gtest.h>

#include <array>
#include <optional>
#include <string>

#include "tests/processes/peer.h"
#include "tests/processes/process.h"
#include "tests/processes/scoreboard.h"
#include "tests/support/await.h"
#include "tests/support/databases.h"
#include "tests/support/scratch.h"

namespace holdfast::test {

using namespace std::chrono_literals;

class Fleet {
 public:
  static constexpr std::size_t size = 4;
  struct Plan {
    std::string url;
    Millis ttl;
    bool outages = false;
  };

  explicit Fleet(Plan plan) : plan_(std::move(plan)) {
    for (std::size_t i = 0; i < size; ++i) start(i);
  }

  // kill -9, and another in its place.
  void replace(std::size_t worker) {
    processes_[worker].reset();
    start(worker);
  }
  void end() {
    for (auto& process : processes_) process.reset();
  }

  std::uint64_t pairs() const { return sum(&Score::pairs); }
  std::uint64_t outages() const { return sum(&Score::outages); }
  std::uint64_t errors() const { return sum(&Score::errors); }

  void expect_all_keys_free_with_a_higher_token() {
    Peer peer(plan_.url);
    for (std::size_t slot = 0; slot < board_.slots.size(); ++slot) {
      const std::string key = "key" + std::to_string(slot);
      Result<Reply> reply = Reply{};
      ASSERT_TRUE(await([&] {
        reply = peer.ask({.verb = Verb::acquire, .key = {key}, .owner = {peer.name()}, .ttl = 1h});
        return reply && reply->verdict == Verdict::granted;
      })) << key
          << ": " << text(reply);
      EXPECT_GT(to_number(reply->token), board_.slots[slot].token) << key;
    }
  }

 private:
  void start(std::size_t worker) {
    processes_[worker].emplace(std::vector<std::string>{"--work", plan_.url, std::to_string(worker), file_,
                                                        std::to_string(plan_.ttl.count()),
                                                        plan_.outages ? "outages" : "steady"});
  }
  std::uint64_t sum(std::atomic<std::uint64_t> Score::*number) const {
    std::uint64_t all = 0;
    for (const Score& score : board_.scores) all += score.*number;
    return all;
  }

  const Plan plan_;
  const Scratch folder_;
  const std::string file_ = folder_.path() + "/scoreboard";
  Scoreboard& board_ = *map_scoreboard(file_);
  std::array<std::optional<Process>, size> processes_;
};

}  // namespace holdfast::test
