// SPDX-License-Identifier: Apache-2.0
// attempt.h - drives core::Acquiring on virtual time, as src/client/attempt.cpp does on real threads.
#pragma once
#include <memory>
#include <optional>
#include <string>

#include "core/acquiring.h"
#include "sim/process.h"
#include "sim/wants.h"

namespace holdfast::sim {

class Attempt {
 public:
  Attempt(Process& process, const Wants& wants);

  // Null: not granted.
  Task<std::shared_ptr<Lease>> run();

 private:
  Task<bool> wait_for_turn();
  Task<std::shared_ptr<Lease>> drive();
  Task<> send(core::Acquiring::Send step);
  void tidy(const core::Acquiring::Done& done);
  std::shared_ptr<Lease> grant(std::optional<Instant> unclear_until);
  void note_failure(const core::Acquiring::Done& done);

  Process& process_;
  RunContext& context_;
  const Wants& wants_;
  const AttemptId attempt_id_;
  const std::string owner_;
  const Instant start_;
  const Instant give_up_;
  core::Acquiring acquiring_;
  std::optional<Gates::Waiter> waiter_;  // if it waits in the queue
  std::optional<Process::InQueue> in_queue_;
  Doze doze_;
  Instant sent_{};
  Reply reply_{};
  bool slept_ = false, woken_ = false;
};

}  // namespace holdfast::sim
