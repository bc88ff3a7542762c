// SPDX-License-Identifier: Apache-2.0
// self_test.h - tests that leases exclude each other: threads of several clients acquire scratch keys in
// turn.
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "holdfast/client.h"

namespace holdfast::cli {

// One grant, as its holder saw it.
struct Grant {
  std::size_t key{};
  Token token{};         // no_token if the layout has none
  Instant from{}, to{};  // valid for the holder: from the reply to the release or the deadline
  bool taken = false;    // the store said that it was lost before its deadline
};

// What is wrong with a list of grants.
struct Faults {
  std::size_t overlaps = 0;  // grants of a key while another holder considered its own valid
  std::size_t falls = 0;     // tokens that are not larger than the one before
  std::size_t taken = 0;
};
Faults faults_in(std::vector<Grant> grants);

struct SelfTest {
  std::vector<Grant> grants;
  std::size_t threads = 0;
  Millis took{};
  std::size_t failures = 0;  // calls that failed
  std::string failure;       // the error of the first one
};
struct SelfTestPlan {
  std::size_t clients = 4, threads_each = 2, keys = 4;
  std::size_t grants_each = 200;  // per thread
  Millis longest{5000};
};

// Calls `new_client` for each client, so that each has its own connections.  The scratch keys are
// holdfast/doctor/1 and so on; afterwards they are free.
Result<SelfTest> test_leases(const std::function<Result<Client>()>& new_client,
                             const SelfTestPlan& plan = {});

// None if all is well.
std::optional<Finding> judge(const SelfTest& test);

// A doctor holds this key during its self-test.
inline constexpr const char* doctors_key = "holdfast/doctor";

}  // namespace holdfast::cli
