// SPDX-License-Identifier: Apache-2.0
// hooked.h - a job engine that calls a hook before and after each operation: for a test to count, to wait, to
// fail, or to die there.
#pragma once
#include <functional>
#include <memory>
#include <span>

#include "holdfast/spi/job_engine.h"

namespace holdfast::test {

enum class Step : std::uint8_t { enqueue, claim, renew, finish, tick };

struct Hooks {
  // The hook may return an error instead: before, nothing was done; after, it was done and the answer is
  // lost.
  std::function<Status(Step)> before = [](Step) { return Status{}; };
  std::function<Status(Step)> after = [](Step) { return Status{}; };
  // The same with the claims that are to be renewed.
  std::function<Status(std::span<const ClaimRef>)> before_renewal = [](auto) { return Status{}; };
};

std::shared_ptr<Store> hooked(std::shared_ptr<Store> inner, Hooks hooks);

}  // namespace holdfast::test
