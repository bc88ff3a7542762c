// SPDX-License-Identifier: Apache-2.0
// self_test.h - the promise of a lease, tried out: threads of several clients take scratch keys in turn.
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
  Token token{};         // none: this layout gives none
  Instant from{}, to{};  // believed to be held: from the answer on, until it was let go or its time was over
  bool taken = false;    // the store said that it was not ours any more, while we believed that it was
};

// What is wrong with them.
struct Faults {
  std::size_t overlaps = 0;  // grants of a key while another holder believed to have it
  std::size_t falls = 0;     // tokens that were not larger than the one before
  std::size_t taken = 0;
};
Faults faults_in(std::vector<Grant> grants);

struct SelfTest {
  std::vector<Grant> grants;
  std::size_t threads = 0;
  Millis took{};
  std::size_t failures = 0;  // calls that had no answer
  std::string failure;       // the first one's
};
struct SelfTestPlan {
  std::size_t clients = 4, threads_each = 2, keys = 4;
  std::size_t grants_each = 200;  // of a thread
  Millis longest{5000};
};

// Each client comes from `new_client`: their connections are their own.  Scratch keys are holdfast/doctor/1
// and so on; afterwards they are free.
Result<SelfTest> test_leases(const std::function<Result<Client>()>& new_client,
                             const SelfTestPlan& plan = {});

// None: all went well.
std::optional<Finding> judge(const SelfTest& test);

// Whoever tests holds this key meanwhile.
inline constexpr const char* doctors_key = "holdfast/doctor";

}  // namespace holdfast::cli
