// SPDX-License-Identifier: Apache-2.0
// hooked.h - a job engine that says what it is about to do, and what it has done: for a test to count, to
// wait, to fail, or to die there.
#pragma once
#include <functional>
#include <memory>

#include "holdfast/spi/job_engine.h"

namespace holdfast::test {

enum class Step : std::uint8_t { enqueue, claim, renew, finish, tick };

struct Hooks {
  // An error is answered instead: before, nothing was done; after, it was done and nobody is told.
  std::function<Status(Step)> before = [](Step) { return Status{}; };
  std::function<Status(Step)> after = [](Step) { return Status{}; };
};

std::shared_ptr<Store> hooked(std::shared_ptr<Store> inner, Hooks hooks);

}  // namespace holdfast::test
