// SPDX-License-Identifier: Apache-2.0
// lease.h - one lease as a simulated process has it.  What LeaseState is to a real client.
#pragma once
#include <optional>
#include <string>

#include "core/keeping.h"
#include "sim/message.h"

namespace holdfast::sim {

//   held ──released by its thread──> released
//     └──deadline passed, or the store said lost──> lost (final)
struct Lease {
  enum class Phase : std::uint8_t { held, released, lost };

  AttemptId attempt_id;
  int key;
  std::string owner;
  Token token;
  Millis ttl{};              // of the next renewal
  core::Keeping::Id id = 0;  // at the keeper
  Instant deadline{};
  Phase phase = Phase::held;
  bool kept = false;                          // as long as its thread wants it
  Instant tried{};                            // when its last renewal was sent, or its acquire
  std::optional<Instant> unclear_until = {};  // an acquire of it without an answer may arrive until then
  bool in_jeopardy = false;
  int failed_renewals = 0;  // in a row
};

}  // namespace holdfast::sim
