// SPDX-License-Identifier: Apache-2.0
// message.h - what crosses the network: requests with what the checks know about them, questions, answers.
#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "holdfast/spi/job_engine.h"
#include "holdfast/spi/store.h"
#include "sim/clocks.h"

namespace holdfast::sim {

// One acquisition by one thread, granted or not; numbered through the whole seed.
using AttemptId = int;
inline constexpr AttemptId no_attempt = -1;
inline constexpr int another_key = -1;

struct Message {
  Verb verb;
  int key = 0;            // of the world's keys; another_key: that of a job's lock
  std::string lock = {};  // that key
  std::string owner;
  Token token{};
  Millis ttl{};
  Millis place{};
  Millis longest_place{};
  bool extend = false;
  bool detached = false;
  AttemptId attempt_id = no_attempt;  // for the checks: the store does not see it
  bool copy = false;                  // for the checks: the network doubled it
  True sent{};                        // for the checks
  Micros void_at{};                   // acquire: on the store's clock
};

struct Question {
  Query::What what{};
  std::string prefix;
  bool exact = false;
  std::size_t limit = 0;
};

// Without anything in it, it asks the store for its time.
struct Letter {
  std::vector<Message> messages = {};
  std::optional<Question> question = {};
  std::optional<Purge> purge = {};
  std::function<std::shared_ptr<void>(JobEngine&)> job = {};
  bool job_may_be_doubled = false;
};

struct Answer {
  std::vector<Reply> replies = {};
  Page page = {};
  Purged purged = {};
  std::shared_ptr<void> job = {};
  Micros now{};  // the store's clock
};

}  // namespace holdfast::sim
